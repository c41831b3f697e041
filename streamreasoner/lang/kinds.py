"""Kinds of terms, and words for sets of them. Invariant: every term is of exactly one kind.

What a built-in takes and gives is a set of kinds; it has no value for a term of any other.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias


class Kind(Enum):
    """What a term is; the value is its name in messages."""

    IRI = "an IRI"
    BLANK_NODE = "a blank node"
    INTEGER = "an integer"
    DECIMAL = "a decimal"
    DOUBLE = "a double"
    STRING = "a string"
    TAGGED = "a string with a language"
    BOOLEAN = "a boolean"
    INSTANT = "a date or time"
    OTHER = "a literal of another datatype"


Kinds: TypeAlias = frozenset[Kind]

INTEGERS: Kinds = frozenset({Kind.INTEGER})
NUMBERS: Kinds = INTEGERS | {Kind.DECIMAL, Kind.DOUBLE}
STRINGS: Kinds = frozenset({Kind.STRING})
TEXTS: Kinds = STRINGS | {Kind.TAGGED}
ORDERED: Kinds = NUMBERS | STRINGS | {Kind.BOOLEAN, Kind.INSTANT}
IRIS: Kinds = frozenset({Kind.IRI})
NODES: Kinds = IRIS | {Kind.BLANK_NODE}
LITERALS: Kinds = frozenset(Kind) - NODES
ANYTHING: Kinds = frozenset(Kind)

_WORDS = (
    ("a term", ANYTHING),
    ("a literal", LITERALS),
    ("a number", NUMBERS),
    ("a string", TEXTS),
    *((kind.value, frozenset({kind})) for kind in Kind),
)


def described(kinds: Kinds) -> str:
    """Return what a term of these kinds is, in words: `a number or a string`."""
    names = []
    for words, group in _WORDS:
        if group <= kinds:
            names.append(words)
            kinds -= group
    return " or ".join(names)
