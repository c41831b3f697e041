"""Values of literals of all datatypes. Invariant: equal values have one canonical literal.

The recognised datatypes are those of RDF 1.1 (Concepts, section 5.1) with rdf:PlainLiteral, which
are those of OWL 2 RL too. Values are equal if XSD 1.1 part 2 calls them identical: an integer is a
decimal, a token is a string and a dayTimeDuration a duration; a float is not a double, and instants
that differ in their timezone are two values (OWL 2 Structural Specification, section 4.7). White
space is not trimmed: a lexical form with more of it than XSD leaves is not in the lexical space.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from streamreasoner.rdf.term_kind import is_iri
from streamreasoner.rdf.vocabulary import (
    RDF_LANG_STRING,
    RDF_PLAIN_LITERAL,
    RDF_XML_LITERAL,
    RDFS_LITERAL,
    XSD,
    XSD_BOOLEAN,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_INTEGER_RANGES,
    XSD_STRING,
)
from streamreasoner.values.datatypes import mappings
from streamreasoner.values.literal import literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamreasoner.values.literal import ValuedLiteral

_DURATION = XSD + "duration"
_NAME_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME_REST = rf"{_NAME_START}\-.0-9\u00b7\u0300-\u036f\u203f-\u2040"
_LANGUAGE = r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*"
_PLAIN = re.compile(rf"(.*)@({_LANGUAGE})?", re.DOTALL)
_STRINGS = {
    XSD + "normalizedString": r"[^\t\n\r]*",
    XSD + "token": r"(?:[^\t\n\r ]+(?: [^\t\n\r ]+)*)?",
    XSD + "language": _LANGUAGE,
    XSD + "NMTOKEN": rf"[{_NAME_REST}:]+",
    XSD + "Name": rf"[{_NAME_START}:][{_NAME_REST}:]*",
    XSD + "NCName": rf"[{_NAME_START}][{_NAME_REST}]*",
}


class DataValue(NamedTuple):
    """A value.

    Attributes:
        space: The primitive datatype whose value space it is in; rdf:langString if it is a string
            with a language.
        text: Its canonical lexical form in that datatype; with the language, if it has one.
    """

    space: str
    text: str

    def __str__(self) -> str:
        """The literal that stands for it; a decimal without a fraction is an xsd:integer."""
        if self.space == RDF_LANG_STRING:
            text, _, language = self.text.rpartition("@")
            return mappings.term(text, language=language)
        whole = self.space == XSD_DECIMAL and "." not in self.text
        return mappings.term(self.text, XSD_INTEGER if whole else self.space)


class _Datatype(NamedTuple):
    """A datatype: those lexical forms of a primitive one that match, whose values are accepted."""

    space: str
    form: re.Pattern[str]
    accepts: Callable[[str], bool]


def canonical(term: str) -> str:
    """The one literal for all literals with this value; any other term, as it is.

    A literal that is ill-typed, or of a datatype that is not recognised, is such a term.
    """
    parsed = literal(term)
    found = None if parsed is None else _value(parsed)
    return term if found is None else str(found)


def in_datatype(term: str, datatype: str) -> bool | None:
    """Whether the value of a literal is in the value space of a datatype.

    An ill-typed literal has no value, so it is in none.

    Returns:
        None if the term is not a literal, or one of the datatypes is not recognised.
    """
    parsed = literal(term)
    name = datatype[1:-1]
    if parsed is None or not is_iri(datatype) or not _recognised(parsed, name):
        return None
    found = _value(parsed)
    if found is None:
        return False
    match name:
        case n if n == RDFS_LITERAL:
            return True
        case n if n == RDF_PLAIN_LITERAL:
            return found.space in (XSD_STRING, RDF_LANG_STRING)
        case n if n == RDF_LANG_STRING:
            return found.space == RDF_LANG_STRING
        case _:
            known = _DATATYPES[name]
            return found.space == known.space and known.accepts(found.text)


def _recognised(parsed: ValuedLiteral, name: str) -> bool:
    special = (RDF_LANG_STRING, RDF_PLAIN_LITERAL)
    known = parsed.datatype is None or parsed.datatype in (*special, *_DATATYPES)
    return known and name in (*special, RDFS_LITERAL, *_DATATYPES)


def _value(parsed: ValuedLiteral) -> DataValue | None:
    """The value of a literal; None if it is ill-typed or not recognised."""
    if parsed.language is not None:
        return DataValue(RDF_LANG_STRING, f"{parsed.lexical}@{parsed.language}")
    if parsed.datatype == RDF_PLAIN_LITERAL:
        return _plain(parsed.lexical)
    known = _DATATYPES.get(parsed.datatype or "")
    if known is None or known.form.fullmatch(parsed.lexical) is None:
        return None
    text = _SPACES[known.space](parsed.lexical)
    return DataValue(known.space, text) if text is not None and known.accepts(text) else None


def _plain(lexical: str) -> DataValue | None:
    """The value of an rdf:PlainLiteral, which ends in `@` and perhaps a language."""
    match = _PLAIN.fullmatch(lexical)
    if match is None:
        return None
    text, language = match.groups()
    if language is None:
        return DataValue(XSD_STRING, text)
    return DataValue(RDF_LANG_STRING, f"{text}@{language.lower()}")


def _in_range(lowest: int | None, highest: int | None) -> Callable[[str], bool]:
    """Whether canonical digits are an integer in a range; a number of many digits is outside."""
    most_digits = 20

    def accepts(text: str) -> bool:
        if "." in text:
            return False
        if len(text.lstrip("-")) > most_digits:
            return (lowest if text.startswith("-") else highest) is None
        number = int(text)
        return (lowest is None or number >= lowest) and (highest is None or number <= highest)

    return accepts


def _whole(form: str) -> Callable[[str], bool]:
    """Whether a text matches, all of it."""
    pattern = re.compile(form)
    return lambda text: pattern.fullmatch(text) is not None


_SPACES: Mapping[str, Callable[[str], str | None]] = {
    XSD_STRING: mappings.string,
    XSD_BOOLEAN: mappings.boolean,
    XSD_DECIMAL: mappings.decimal,
    XSD_DOUBLE: mappings.double,
    XSD_FLOAT: mappings.single,
    XSD_DATE_TIME: mappings.date_time,
    _DURATION: mappings.duration,
    XSD + "hexBinary": mappings.hexadecimal,
    XSD + "base64Binary": mappings.base64,
    XSD + "anyURI": mappings.uri,
    RDF_XML_LITERAL: mappings.xml,
    **{XSD + name: mapping for name, mapping in mappings.PARTS_OF_DATES.items()},
}
"""For each primitive datatype the canonical lexical form of a lexical form; None if it is none."""

_ANY = re.compile(".*", re.DOTALL)
_INTEGER = re.compile("[+-]?[0-9]+")
_DATATYPES: Mapping[str, _Datatype] = {
    **{space: _Datatype(space, _ANY, lambda _: True) for space in _SPACES},
    **{
        name: _Datatype(XSD_DECIMAL, _INTEGER, _in_range(*limits))
        for name, limits in XSD_INTEGER_RANGES.items()
    },
    **{name: _Datatype(XSD_STRING, _ANY, _whole(form)) for name, form in _STRINGS.items()},
    XSD_DATE_TIME_STAMP: _Datatype(XSD_DATE_TIME, _ANY, _whole(".*T.*[Z+-].*")),
    XSD + "dayTimeDuration": _Datatype(
        _DURATION, re.compile("[^YM]*(?:T.*)?"), _whole("-?P[^YM]*(?:T.*)?")
    ),
    XSD + "yearMonthDuration": _Datatype(_DURATION, re.compile("[^DT]*"), _whole("[^DT]*|PT0S")),
}
