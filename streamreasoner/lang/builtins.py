"""The built-ins of the rule language. Invariant: name and number of arguments decide the kind.

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


MAX_ARGUMENTS = 250
"""Maximum number of arguments of a variadic built-in."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """The signature of a built-in.

    Attributes:
        parameters: Kinds accepted for each argument; the last are optional if `min_args` is less
            than their number.
        returns: Kinds of its value; a test returns a boolean.
        min_args: Minimum number of arguments.
        max_args: Maximum number of arguments; None if the last parameter repeats, up to
            `MAX_ARGUMENTS`.
    """

    parameters: tuple[Kinds, ...]
    returns: Kinds
    min_args: int
    max_args: int | None

    def accepts(self, count: int) -> bool:
        """Whether it can be called with `count` arguments."""
        return self.min_args <= count <= (MAX_ARGUMENTS if self.max_args is None else self.max_args)

    def __str__(self) -> str:
        if self.max_args is None:
            return f"{self.min_args} to {MAX_ARGUMENTS} arguments"
        if self.min_args != self.max_args:
            return f"{self.min_args} to {self.max_args} arguments"
        return "1 argument" if self.min_args == 1 else f"{self.min_args} arguments"


def _exactly(parameters: tuple[Kinds, ...], returns: Kinds) -> Builtin:
    return Builtin(parameters, returns, len(parameters), len(parameters))


def _at_least(min_args: int, parameter: Kinds, returns: Kinds) -> Builtin:
    return Builtin((parameter,), returns, min_args, None)


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
"""Aggregates that may be recursive, if they are the only aggregate of their head."""

NAMES = frozenset(FUNCTIONS) | frozenset(TESTS) | frozenset(AGGREGATES)


def is_aggregate(name: str, count: int, *, distinct: bool) -> bool:
    """Whether a call of `name` with `count` arguments is an aggregate, not a function."""
    if distinct:
        return True
    return name in AGGREGATES and not (name in FUNCTIONS and count != 1)
