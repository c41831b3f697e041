"""The built-ins of the rule language. Invariant: a name and a number of arguments decide the kind.

`min(?d)` is an aggregate and `min(?a, ?b)` a function; the names of tests are reserved, so that
`contains(?x, "a")` in a body is never an atom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.lang.kinds import (
    ANYTHING,
    INTEGERS,
    IRIS,
    LITERALS,
    NUMBERS,
    ORDERED,
    STRINGS,
    TEXTS,
    Kind,
)

if TYPE_CHECKING:
    from streamreasoner.lang.kinds import Kinds


MOST_ARGUMENTS = 250
"""How many arguments a built-in without a limit of its own takes."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """What a built-in takes, and what it gives.

    Attributes:
        takes: Kinds of each argument that it has a value for; the last are optional if `least` is
            less than their number.
        gives: Kinds of its value; a test gives a boolean.
        least: Number of arguments it needs.
        most: Number of arguments it takes, None if the last kinds are repeated, up to
            `MOST_ARGUMENTS`.
    """

    takes: tuple[Kinds, ...]
    gives: Kinds
    least: int
    most: int | None

    def accepts(self, count: int) -> bool:
        """Whether `count` arguments are legal."""
        return self.least <= count <= (MOST_ARGUMENTS if self.most is None else self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.least} to {MOST_ARGUMENTS} arguments"
        if self.least != self.most:
            return f"{self.least} to {self.most} arguments"
        return "1 argument" if self.least == 1 else f"{self.least} arguments"


def _exactly(takes: tuple[Kinds, ...], gives: Kinds) -> Builtin:
    return Builtin(takes, gives, len(takes), len(takes))


def _at_least(least: int, takes: Kinds, gives: Kinds) -> Builtin:
    return Builtin((takes,), gives, least, None)


_TRUTH: Kinds = frozenset({Kind.BOOLEAN})

FUNCTIONS = {
    "abs": _exactly((NUMBERS,), NUMBERS),
    "min": _at_least(2, ORDERED, ORDERED),
    "max": _at_least(2, ORDERED, ORDERED),
    "concat": _at_least(1, TEXTS, TEXTS),
    "length": _exactly((TEXTS,), INTEGERS),
    "substring": Builtin((TEXTS, INTEGERS, INTEGERS), TEXTS, 2, 3),
    "lower": _exactly((TEXTS,), TEXTS),
    "upper": _exactly((TEXTS,), TEXTS),
    "to_string": _exactly((LITERALS,), STRINGS),
    "to_number": _exactly((NUMBERS | TEXTS,), NUMBERS),
    "str": _exactly((IRIS | LITERALS,), STRINGS),
    "datatype": _exactly((LITERALS,), IRIS),
    "lang": _exactly((LITERALS,), STRINGS),
    "skolem": _at_least(1, ANYTHING, frozenset({Kind.BLANK_NODE})),
}
"""Built-ins that are values in an expression."""

TESTS = {
    "contains": _exactly((TEXTS, TEXTS), _TRUTH),
    "starts_with": _exactly((TEXTS, TEXTS), _TRUTH),
    "ends_with": _exactly((TEXTS, TEXTS), _TRUTH),
    "matches": _exactly((TEXTS, TEXTS), _TRUTH),
    "is_iri": _exactly((ANYTHING,), _TRUTH),
    "is_blank": _exactly((ANYTHING,), _TRUTH),
    "is_literal": _exactly((ANYTHING,), _TRUTH),
    "is_string": _exactly((ANYTHING,), _TRUTH),
    "is_number": _exactly((ANYTHING,), _TRUTH),
    "is_integer": _exactly((ANYTHING,), _TRUTH),
    "is_decimal": _exactly((ANYTHING,), _TRUTH),
    "is_double": _exactly((ANYTHING,), _TRUTH),
    "is_boolean": _exactly((ANYTHING,), _TRUTH),
}
"""Built-ins that are literals of a body."""

AGGREGATES = {
    "count": _exactly((ANYTHING,), INTEGERS),
    "sum": _exactly((NUMBERS,), NUMBERS),
    "min": _exactly((ANYTHING,), ANYTHING),
    "max": _exactly((ANYTHING,), ANYTHING),
    "avg": _exactly((NUMBERS,), frozenset({Kind.DECIMAL, Kind.DOUBLE})),
}
"""Built-ins that are arguments of a head; only `count` takes `distinct`."""

MONOTONE_AGGREGATES = frozenset({"min", "max"})
"""Aggregates that may be used through recursion, where they are alone in their head."""

NAMES = frozenset(FUNCTIONS) | frozenset(TESTS) | frozenset(AGGREGATES)


def is_aggregate(name: str, count: int, *, distinct: bool) -> bool:
    """Whether a call of `name` with `count` arguments is an aggregate, not a function."""
    if distinct:
        return True
    return name in AGGREGATES and not (name in FUNCTIONS and count != 1)
