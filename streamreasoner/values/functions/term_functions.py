"""Functions and tests on terms. Invariant: a test of a term's kind always has a value."""

from __future__ import annotations

import re
from hashlib import sha256
from math import isnan

from streamreasoner.errors import TermError
from streamreasoner.rdf.iris import resolve
from streamreasoner.rdf.minted import fact_iri
from streamreasoner.rdf.nesting import DEEPEST
from streamreasoner.rdf.term_kind import is_iri, is_resource, is_triple_term
from streamreasoner.rdf.terms import DIRECTIONS, parse, to_ntriples
from streamreasoner.rdf.triple_terms import blank_nodes, components, levels, triple_term
from streamreasoner.rdf.vocabulary import (
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_INTEGER_RANGES,
    XSD_STRING,
)
from streamreasoner.values.literal import canonical, literal, string
from streamreasoner.values.numbers import NUMERIC, number
from streamreasoner.values.valuation import ValueKind, value

SKOLEM_DEPTH = 16
"""Maximum nesting of skolem terms, so that rules that create nodes terminate."""

_LANGUAGE = re.compile(r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*")
_SKOLEM = re.compile(r"_:sk([1-9][0-9]*)\.[0-9a-f]{32}")
_HEX_DIGITS = 32
_DEPTH_DIGITS = 3
_FORMS = (
    (XSD_INTEGER, re.compile(r"[+-]?[0-9]+")),
    (XSD_DECIMAL, re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)")),
)
_BOOLEAN = frozenset({XSD_BOOLEAN})
_DECIMAL = frozenset({XSD_DECIMAL})
_DOUBLE = frozenset({XSD_DOUBLE, XSD_FLOAT})
_INSTANT = frozenset({XSD_DATE, XSD_DATE_TIME, XSD_DATE_TIME_STAMP})
_INTEGER = frozenset(XSD_INTEGER_RANGES)


def to_string(term: str) -> str | None:
    """Lexical form of a literal, as an xsd:string."""
    parsed = literal(term)
    return None if parsed is None else canonical(parsed.lexical)


def to_number(operand: str) -> str | None:
    """A number unchanged, or the text of a string as xsd:integer, xsd:decimal or xsd:double.

    Integers and decimals keep all their digits.
    """
    if number(operand) is not None:
        return operand
    text = string(operand)
    if text is None:
        return None
    for datatype, form in _FORMS:
        if form.fullmatch(text.lexical) is not None:
            return f'"{_plain(text.lexical)}"^^<{datatype}>'
    double = value(text.lexical, XSD_DOUBLE)
    return None if double.kind is ValueKind.NONE else to_ntriples(double.double)


def to_text(term: str) -> str | None:
    """IRI or lexical form as an xsd:string; None for a blank node."""
    if is_iri(term):
        return canonical(term[1:-1])
    return to_string(term)


def datatype(term: str) -> str | None:
    """Datatype IRI of a literal."""
    parsed = literal(term)
    if parsed is None:
        return None
    tagged = RDF_DIR_LANG_STRING if "--" in (parsed.language or "") else RDF_LANG_STRING
    return f"<{parsed.datatype or tagged}>"


def language(term: str) -> str | None:
    """Language tag of a literal, the empty string if it has none."""
    parsed = literal(term)
    return None if parsed is None else canonical((parsed.language or "").partition("--")[0])


def iri(term: str, base: str | None = None) -> str | None:
    """The IRI of a text, if it is absolute and valid; an IRI as it is (SPARQL 1.1, 17.4.2.8).

    Args:
        term: The text, or an IRI.
        base: An IRI, or its text, against which a relative one is resolved.
    """
    if base is not None and (base := iri(base)) is None:
        return None
    if is_iri(term):
        return term
    text = literal(term)
    if text is None or text.datatype != XSD_STRING or "\\" in text.lexical:
        return None
    try:
        name = text.lexical if base is None else resolve(text.lexical, base[1:-1])
        return str(parse(f"<{name}>"))
    except TermError:
        return None


def with_datatype(text: str, name: str) -> str | None:
    """The literal of a string without a language and a datatype (SPARQL 1.1, 17.4.2.10).

    It may be ill-typed. No value for a datatype of strings with a language.
    """
    parsed = literal(text)
    if parsed is None or parsed.datatype != XSD_STRING or not is_iri(name):
        return None
    if name[1:-1] in (RDF_LANG_STRING, RDF_DIR_LANG_STRING):
        return None
    plain = canonical(parsed.lexical)
    return plain if name[1:-1] == XSD_STRING else f"{plain}^^{name}"


def with_language(text: str, tag: str) -> str | None:
    """The string with a language of one without and a language tag (SPARQL 1.1, 17.4.2.11)."""
    parsed, name = literal(text), literal(tag)
    if parsed is None or name is None or {parsed.datatype, name.datatype} != {XSD_STRING}:
        return None
    if _LANGUAGE.fullmatch(name.lexical) is None:
        return None
    return canonical(parsed.lexical, name.lexical.lower())


def direction(term: str) -> str | None:
    """Base direction of a literal, the empty string if it has none (SPARQL 1.2, LANGDIR)."""
    parsed = literal(term)
    return None if parsed is None else canonical((parsed.language or "").partition("--")[2])


def with_direction(text: str, tag: str, name: str) -> str | None:
    """The string with a language and a base direction, `ltr` or `rtl` (SPARQL 1.2, STRLANGDIR)."""
    tagged, base = with_language(text, tag), literal(name)
    if tagged is None or base is None or base.datatype != XSD_STRING:
        return None
    return f"{tagged}--{base.lexical}" if base.lexical in DIRECTIONS else None


def has_language(term: str) -> bool:
    """Whether it is a literal with a language, with or without a base direction."""
    parsed = literal(term)
    return parsed is not None and parsed.language is not None


def has_direction(term: str) -> bool:
    """Whether it is a literal with a base direction."""
    parsed = literal(term)
    return parsed is not None and "--" in (parsed.language or "")


def component(index: int, term: str) -> str | None:
    """Subject, predicate or object, 0 to 2, of a triple term."""
    return components(term)[index] if is_triple_term(term) else None


def triple(subject: str, predicate: str, object_: str) -> str | None:
    """The triple term of three terms, if it is a triple of RDF 1.2 (SPARQL 1.2, TRIPLE).

    One that would be nested deeper than messages may have it has no value.
    """
    if not (is_resource(subject) and is_iri(predicate)) or levels(object_) >= DEEPEST:
        return None
    return triple_term(subject, predicate, object_)


def language_matches(tag: str, wanted: str) -> bool | None:
    """Whether a language tag is in a range: `*` for any, or the first parts of the tag.

    Source: SPARQL 1.1, section 17.4.3.12; RFC 4647, section 3.3.1, basic filtering.
    """
    found, asked = literal(tag), literal(wanted)
    if found is None or asked is None or {found.datatype, asked.datatype} != {XSD_STRING}:
        return None
    if asked.lexical == "*":
        return found.lexical != ""
    return f"{found.lexical}-".lower().startswith(f"{asked.lexical}-".lower())


def same_term(left: str, right: str) -> bool:
    """Whether two terms are one, not merely equal as values (SPARQL 1.1, section 17.4.1.8)."""
    return left == right


def effective_boolean(term: str) -> bool | None:
    """The effective boolean value of a literal (SPARQL 1.2, section 17.2.2).

    Ill-typed booleans and numbers, and strings with a language, have none; in SPARQL 1.1 they had.
    """
    parsed = literal(term)
    if parsed is None or parsed.value.kind is ValueKind.NONE:
        return None
    if parsed.datatype == XSD_STRING:
        return parsed.lexical != ""
    if parsed.datatype == XSD_BOOLEAN:
        return parsed.value.whole == 1
    if parsed.datatype in NUMERIC:
        return parsed.value.double != 0 and not isnan(parsed.value.double)
    return None


def first(*terms: str) -> str:
    """The first term: `coalesce` where all have a value."""
    return terms[0]


def skolem(*arguments: str) -> str | None:
    """The blank node `_:sk<depth>.<hash>` for these terms; None if nested too deeply.

    The hash is the first 128 bits of SHA-256 over the canonical texts, joined with U+0000. The
    depth is one more than that of the deepest such blank node that is, or is in, an argument.
    """
    depth = 1
    for argument in arguments:
        for node in blank_nodes(argument):
            if (nested := _SKOLEM.fullmatch(node)) is not None:
                depth = max(depth, 1 + int(nested[1][:_DEPTH_DIGITS]))
    if depth > SKOLEM_DEPTH:
        return None
    digest = sha256("\0".join(arguments).encode()).hexdigest()
    return f"_:sk{depth}.{digest[:_HEX_DIGITS]}"


def uuid(*arguments: str) -> str:
    """The UUID for these terms, of version 8 (RFC 9562): the first bits of the hash of `skolem`."""
    digits = sha256("\0".join(arguments).encode()).hexdigest()[:_HEX_DIGITS]
    variant = "89ab"[int(digits[16], 16) & 3]
    parts = digits[:8], digits[8:12], f"8{digits[13:16]}", variant + digits[17:20], digits[20:]
    return canonical("-".join(parts))


def triple_iri(*triple: str) -> str:
    """The IRI of a triple in provenance."""
    return fact_iri("triple", triple)


def is_string(term: str) -> bool:
    """Whether it is an xsd:string or a language-tagged literal."""
    return string(term) is not None


def is_number(term: str) -> bool:
    """Whether it is an integer, a decimal or a double."""
    return _has_value(term, NUMERIC)


def is_integer(term: str) -> bool:
    """Whether it is an xsd:integer, or of a type derived from it."""
    return _has_value(term, _INTEGER)


def is_decimal(term: str) -> bool:
    """Whether it is an xsd:decimal; integers are not."""
    return _has_value(term, _DECIMAL)


def is_double(term: str) -> bool:
    """Whether it is an xsd:double or xsd:float."""
    return _has_value(term, _DOUBLE)


def is_boolean(term: str) -> bool:
    """Whether it is an xsd:boolean."""
    return _has_value(term, _BOOLEAN)


def is_instant(term: str) -> bool:
    """Whether it is an xsd:dateTime, xsd:dateTimeStamp or xsd:date."""
    return _has_value(term, _INSTANT)


def _has_value(term: str, datatypes: frozenset[str]) -> bool:
    """Whether it is a literal of one of these datatypes with a valid lexical form."""
    parsed = literal(term)
    if parsed is None or parsed.datatype not in datatypes:
        return False
    return parsed.value.kind is not ValueKind.NONE


def _plain(lexical: str) -> str:
    """Canonical digits of an xsd:integer or xsd:decimal of any length."""
    whole, _, fraction = lexical.lstrip("+-").partition(".")
    digits = (whole.lstrip("0") or "0") + f".{fraction}".rstrip("0").rstrip(".")
    return f"-{digits}" if lexical.startswith("-") and digits != "0" else digits
