"""Kinds of terms, and names for sets of kinds. Invariant: every term is of exactly one kind.

The parameters and the result of a built-in are sets of kinds; for other kinds it has no value.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias


class Kind(Enum):
    """The kind of a term; the value is its name in messages."""

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
    TRIPLE = "a triple term"


Kinds: TypeAlias = frozenset[Kind]

INTEGERS: Kinds = frozenset({Kind.INTEGER})
NUMBERS: Kinds = INTEGERS | {Kind.DECIMAL, Kind.DOUBLE}
STRINGS: Kinds = frozenset({Kind.STRING})
TEXTS: Kinds = STRINGS | {Kind.TAGGED}
ORDERED: Kinds = NUMBERS | STRINGS | {Kind.BOOLEAN, Kind.INSTANT}
IRIS: Kinds = frozenset({Kind.IRI})
NODES: Kinds = IRIS | {Kind.BLANK_NODE}
TRIPLES: Kinds = frozenset({Kind.TRIPLE})
LITERALS: Kinds = frozenset(Kind) - NODES - TRIPLES
ANYTHING: Kinds = frozenset(Kind)

_WORDS = (
    ("a term", ANYTHING),
    ("a literal", LITERALS),
    ("a number", NUMBERS),
    ("a string", TEXTS),
    *((kind.value, frozenset({kind})) for kind in Kind),
)


def described(kinds: Kinds) -> str:
    """Describe a set of kinds in words: `a number or a string`."""
    names = []
    for words, group in _WORDS:
        if group <= kinds:
            names.append(words)
            kinds -= group
    return " or ".join(names)
