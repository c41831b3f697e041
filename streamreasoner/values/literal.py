"""Parse and build literals. Invariant: `canonical` is the inverse of `literal`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from streamreasoner.rdf.term_kind import is_literal
from streamreasoner.rdf.terms import parse, quoted
from streamreasoner.rdf.vocabulary import XSD_STRING
from streamreasoner.values.valuation import value

if TYPE_CHECKING:
    from streamreasoner.values.valuation import TypedValue

_CACHED = 4096


class ValuedLiteral(NamedTuple):
    """A literal and its value.

    Attributes:
        lexical: Lexical form, unescaped.
        language: Lower-case language tag, with a base direction as in `ar--rtl`; or None.
        datatype: Datatype IRI (xsd:string included), None if there is a language tag.
        value: Its value for comparisons.
    """

    lexical: str
    language: str | None
    datatype: str | None
    value: TypedValue


@lru_cache(maxsize=_CACHED)
def literal(text: str) -> ValuedLiteral | None:
    """The literal of a canonical term; None if it is another term."""
    if not is_literal(text):
        return None
    end = text.rindex('"')
    lexical, rest = text[1:end], text[end + 1 :]
    if "\\" in lexical:
        lexical = parse(text).value
    language = rest[1:] if rest.startswith("@") else None
    datatype = None if language is not None else rest[3:-1] or XSD_STRING
    return ValuedLiteral(lexical, language, datatype, value(lexical, datatype))


def string(text: str) -> ValuedLiteral | None:
    """The literal of a canonical term if it is a string, with or without a language tag."""
    parsed = literal(text)
    if parsed is None or (parsed.language is None and parsed.datatype != XSD_STRING):
        return None
    return parsed


def canonical(lexical: str, language: str | None = None) -> str:
    """Canonical text of a string, with or without a language, as `ValuedLiteral` has it."""
    return quoted(lexical) if language is None else f"{quoted(lexical)}@{language}"
