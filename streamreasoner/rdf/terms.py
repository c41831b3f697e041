r"""One RDF term as text. Invariant: equal RDF terms have exactly one canonical text.

Input is a term in N-Triples 1.2 (https://www.w3.org/TR/rdf12-n-triples/, section 7). Output
is canonical N-Triples (https://www.w3.org/TR/rdf12-n-triples/, "A Canonical form of N-Triples"):

- in literals BS, HT, LF, FF, CR, the quotation mark and the backslash are written `\b \t \n \f \r
  \" \\`; other characters below U+0020, DEL, U+FFFE and U+FFFF are written `\uXXXX` with
  upper-case digits; every other character stands for itself;
- IRIs contain no escapes; `^^xsd:string` is omitted; language tags are in lower case;
- a triple term is `<<( S P O )>>`, with single spaces, nested `nesting.DEEPEST` levels at most.

Lexical forms are preserved: `"01"^^xsd:integer` and `"1"^^xsd:integer` are two terms (RDF 1.1
Concepts, section 3.3). IRIs are validated by pyoxigraph, without access to files or the network.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import pyoxigraph

from streamreasoner.errors import TermError
from streamreasoner.rdf.nesting import DEEPEST
from streamreasoner.rdf.term_kind import TermKind, is_blank_node, is_iri, is_literal, is_triple_term
from streamreasoner.rdf.triple_terms import components, triple_term, unnested
from streamreasoner.rdf.vocabulary import (
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_STRING,
)

_PN_CHARS_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
# Without the colon that the first edition of N-Triples had, and Turtle has not (errata).
_PN_CHARS_U = _PN_CHARS_BASE + "_"
_PN_CHARS = _PN_CHARS_U + "0-9\u00b7\u0300-\u036f\u203f-\u2040-"
_BLANK_NODE = re.compile(rf"_:([{_PN_CHARS_U}0-9](?:[{_PN_CHARS}.]*[{_PN_CHARS}])?)")
_QUOTED = re.compile(r'"([^"\\\n\r]*+(?:\\.[^"\\\n\r]*+)*+)"', re.DOTALL)
# White space may stand between two tokens of a literal (RDF 1.1 N-Triples, section 7).
_LANGUAGE = re.compile(r"[ \t]*@([a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*)")
_DATATYPE = re.compile(r"[ \t]*\^\^[ \t]*(?=<)")
_IRI_FORBIDDEN = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([tbnrf\"'\\]))")
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_TO_ESCAPE = re.compile('[\\x00-\\x1f\\x7f"\\\\\ufffe\uffff]')
_SHORT_ESCAPES = {
    "\t": "\\t",
    "\b": "\\b",
    "\n": "\\n",
    "\r": "\\r",
    "\f": "\\f",
    '"': '\\"',
    "\\": "\\\\",
}
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(?:[+-]\d\d:\d\d)?")
_SHOWN_CHARACTERS = 100
_WORD = re.compile(r"[\w .,-]+")
_TRIPLE_TERM = (
    "a triple term is written <<( subject predicate object )>>, where the subject is an IRI or a"
    " blank node, and the predicate is an IRI"
)
_TOO_DEEP = f"triple terms are nested more than {DEEPEST} levels deep"
_DIRECTION = re.compile(r"--([a-zA-Z]+)\Z")
DIRECTIONS = ("ltr", "rtl")
"""Base directions of literals, as they are written."""
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Term:
    """One RDF term, with its text unescaped.

    Attributes:
        kind: IRI, blank node, literal or triple term.
        value: The IRI, the blank node label, the lexical form, or the canonical text of a triple
            term.
        language: Lower-case language tag of a language-tagged literal, else None.
        datatype: Datatype IRI of any other literal (xsd:string included), else None.
        direction: Base direction of a literal with a language, `ltr` or `rtl`, else None.
    """

    kind: TermKind
    value: str
    language: str | None = None
    datatype: str | None = None
    direction: str | None = None

    @classmethod
    def parse(cls, text: str) -> Term:
        """Read one term in N-Triples syntax, of which `str` is the inverse.

        Raises:
            TermError: What is wrong, and at which character (counted from 1).
        """
        return parse(text)

    def __str__(self) -> str:
        """Canonical N-Triples."""
        if self.kind is TermKind.TRIPLE_TERM:
            return self.value
        if self.kind is TermKind.IRI:
            return f"<{self.value}>"
        if self.kind is TermKind.BLANK_NODE:
            return f"_:{self.value}"
        text = quoted(self.value)
        if self.language is not None:
            direction = "" if self.direction is None else f"--{self.direction}"
            return f"{text}@{self.language}{direction}"
        return text if self.datatype == XSD_STRING else f"{text}^^<{self.datatype}>"

    @property
    def components(self) -> tuple[Term, Term, Term] | None:
        """Subject, predicate and object of a triple term, else None."""
        if self.kind is not TermKind.TRIPLE_TERM:
            return None
        subject, predicate, object_ = components(self.value)
        return parse(subject), parse(predicate), parse(object_)


def quoted(text: str) -> str:
    """The plain literal of a text without surrogates, in canonical N-Triples."""
    return f'"{_TO_ESCAPE.sub(_escape, text)}"'


def canonical(text: str) -> str:
    """Canonical N-Triples text of one term in N-Triples syntax.

    Raises:
        TermError: `text` is not exactly one valid term of RDF 1.2.
    """
    return str(parse(text))


def parse(text: str) -> Term:
    """Read one term in N-Triples syntax, with nothing before or after it.

    Raises:
        TermError: What is wrong, and at which character (counted from 1).
    """
    if (surrogate := _SURROGATE.search(text)) is not None:
        raise _error(text, "a surrogate code point is not a character", surrogate.start())
    if is_triple_term(text):
        return _triple_term(text)
    if is_iri(text):
        return Term(TermKind.IRI, _iri(text, 0))
    if is_blank_node(text):
        label = _BLANK_NODE.fullmatch(text)
        if label is None:
            prefix = _BLANK_NODE.match(text)
            at = prefix.end() if prefix else 2
            reason = "the blank node label is empty or contains a character that is not allowed"
            if text.startswith(":", at):
                reason = "the label of a blank node cannot contain a colon; use other characters"
            raise _error(text, reason, at)
        return Term(TermKind.BLANK_NODE, label[1])
    if is_literal(text):
        return _literal(text)
    reason = 'a term is an <IRI>, a _:blankNode, a "literal" or a <<( triple term )>>'
    if _WORD.fullmatch(text):
        reason += f"; a text is written in quotation marks, {quoted(text[:_SHOWN_CHARACTERS])}"
    raise _error(text, reason, 0)


def of_oxigraph(term: object) -> str:
    """A term of pyoxigraph as N-Triples writes it, which is not canonical yet."""
    return f"<<( {term} )>>" if isinstance(term, pyoxigraph.Triple) else str(term)


def iri_text(text: str) -> str:
    r"""The characters of an IRI, absolute or not, that is written with `\uXXXX` and `\UXXXXXXXX`.

    Raises:
        TermError: An escape is malformed, or stands for a backslash.
    """
    plain = _unescape(text, 0, len(text), in_iri=True)
    if "\\" in plain:
        raise _error(text, "an IRI cannot contain the character '\\\\'", text.index("\\"))
    return plain


def to_ntriples(value: object) -> str:
    """Canonical N-Triples of a Python value; `nodes.to_ntriples` takes rdflib's nodes too.

    str becomes a plain literal, int an xsd:integer, Decimal an xsd:decimal with all its digits,
    float an xsd:double in the canonical form of XSD 1.1 (`1.0E0`), bool an xsd:boolean, datetime an
    xsd:dateTime, date an xsd:date. A scalar of numpy is what it is in Python.

    Raises:
        TermError: The value has no RDF form.
    """
    if type(value).__module__ == "numpy":
        value = _of_numpy(value)
    if type(value) is str:
        return canonical(quoted(value))
    lexical, datatype = _lexical(value)
    return str(Term(TermKind.LITERAL, lexical, datatype=datatype))


def _lexical(value: object) -> tuple[str, str]:
    """Lexical form and datatype of a value."""
    match value:
        case bool():
            return "true" if value else "false", XSD_BOOLEAN
        case int():
            return _integer(value), XSD_INTEGER
        case float():
            return _double(value), XSD_DOUBLE
        case Decimal():
            if not value.is_finite():
                raise TermError(f"Decimal '{value}' has no form in RDF; use a finite number.")
            return f"{value:f}", XSD_DECIMAL
        case datetime():
            return _instant(value), XSD_DATE_TIME
        case date():
            return value.isoformat(), XSD_DATE
        case _:
            raise TermError(
                f"A Python {type(value).__name__} is not a term; use an rdflib URIRef, BNode or"
                " Literal, or an int, float, Decimal, str, bool, datetime or date."
            )


def _of_numpy(value: object) -> object:
    """The Python value of a scalar of numpy; itself if it has none."""
    import numpy as np  # noqa: PLC0415 - programs are checked without it

    if not isinstance(value, np.generic):
        return value
    if not isinstance(value, np.datetime64):
        return value.item()
    # A unit of nanoseconds has no Python value, and one of days a date.
    exact = value if isinstance(value.item(), date) else value.astype("datetime64[us]")
    if exact != value or not isinstance(exact.item(), date):
        raise TermError(f"The numpy datetime {value} is not a whole number of microseconds.")
    return exact.item()


def _instant(value: datetime) -> str:
    text = value.isoformat()
    if not _INSTANT.fullmatch(text):
        raise TermError(f"The datetime {text} has no form in RDF; its offset must be of minutes.")
    return re.sub(r"\+00:00$", "Z", text)


def _integer(value: int) -> str:
    try:
        return str(int(value))
    except ValueError:
        raise TermError(
            "An integer has more digits than Python converts to text; use a Decimal or a float."
        ) from None


def _double(value: float) -> str:
    """Canonical lexical form of xsd:double (XSD 1.1 part 2, section E.1): `1.5E2`, `INF`, `NaN`."""
    if value != value:  # noqa: PLR0124  (only NaN differs from itself)
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "-INF"
    if value == 0:
        return "-0.0E0" if str(value).startswith("-") else "0.0E0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)  # noqa: S101  (a finite Decimal has an integer exponent)
    text = "".join(map(str, digits)).rstrip("0")
    shift = exponent + len(digits) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{shift}"


def _literal(text: str) -> Term:
    lexical = _QUOTED.match(text)
    if lexical is None:
        line_break = re.search(r"[\n\r]", text)
        if line_break is not None:
            raise _error(text, "a line break in a literal must be escaped", line_break.start())
        raise _error(text, "the literal has no closing quotation mark", len(text))
    value = _unescape(text, lexical.start(1), lexical.end(1), in_iri=False)
    end = lexical.end()
    if end == len(text):
        return Term(TermKind.LITERAL, value, datatype=XSD_STRING)
    language = _LANGUAGE.match(text, end)
    if language is not None:
        direction = _DIRECTION.match(text, language.end())
        if direction is not None:
            if direction[1] not in DIRECTIONS:
                reason = "the base direction of a literal is ltr or rtl, in lower case"
                raise _error(text, reason, direction.start(1))
            return Term(
                TermKind.LITERAL, value, language=language[1].lower(), direction=direction[1]
            )
        if language.end() != len(text):
            raise _error(text, "the language tag is malformed", language.end())
        return Term(TermKind.LITERAL, value, language=language[1].lower())
    marker = _DATATYPE.match(text, end)
    if marker is None:
        raise _error(text, "after a literal only @language or ^^<datatype> may follow", end)
    datatype = _iri(text, marker.end())
    if datatype in (RDF_LANG_STRING, RDF_DIR_LANG_STRING):
        raise _error(text, "a literal of this datatype needs a language tag", marker.end())
    return Term(TermKind.LITERAL, value, datatype=datatype)


def _triple_term(text: str) -> Term:
    parts = unnested(text)
    if parts is None:
        raise _error(text, _TRIPLE_TERM, 0)
    heads, innermost = parts
    if len(heads) > DEEPEST:
        raise _error(text, _TOO_DEEP, 0)
    term = canonical(innermost)
    for subject, predicate in reversed(heads):
        term = triple_term(canonical(subject), canonical(predicate), term)
    return Term(TermKind.TRIPLE_TERM, term)


def _iri(text: str, start: int) -> str:
    """The IRI in `text[start:]`, which begins with `<` and must end with `>`."""
    if not text.endswith(">") or len(text) == start + 1:
        raise _error(text, "the IRI has no closing '>'", len(text))
    iri = _unescape(text, start + 1, len(text) - 1, in_iri=True)
    forbidden = _IRI_FORBIDDEN.search(iri)
    if forbidden is not None:
        position = start + 1 + (forbidden.start() if len(iri) == len(text) - start - 2 else 0)
        raise _error(text, f"an IRI cannot contain the character {forbidden[0]!r}", position)
    try:
        pyoxigraph.NamedNode(iri)
    except ValueError as error:
        reason = f"the IRI is not valid ({str(error).rstrip('.')})"
        raise _error(text, reason, start) from None
    return iri


def _unescape(text: str, start: int, end: int, *, in_iri: bool) -> str:
    """`text[start:end]` with its escapes resolved; IRIs allow only numeric escapes."""
    if text.find("\\", start, end) < 0:
        return text[start:end]
    parts = []
    while (slash := text.find("\\", start, end)) >= 0:
        parts.append(text[start:slash])
        escape = _ESCAPE.match(text, slash, end)
        if escape is None or (in_iri and escape[3] is not None):
            allowed = r"\uXXXX, \UXXXXXXXX" + (
                "" if in_iri else r""", \t, \b, \n, \r, \f, \", \', \\"""
            )
            raise _error(text, f"the escape is not one of {allowed}", slash)
        if escape[3] is not None:
            parts.append(_ESCAPED[escape[3]])
        else:
            code = int(escape[1] or escape[2], 16)
            if code > _LAST_CODE_POINT or code in _SURROGATES:
                raise _error(text, f"the escape {escape[0]} is not a character", slash)
            parts.append(chr(code))
        start = escape.end()
    parts.append(text[start:end])
    return "".join(parts)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04X}"


def _error(text: str, reason: str, position: int) -> TermError:
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
    return TermError(f"Term {shown!r} is not valid: {reason} (at character {position + 1}).")
