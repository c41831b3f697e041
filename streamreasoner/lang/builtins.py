"""The built-ins of the rule language. Invariant: a name and a number of arguments decide the kind.

`min(?d)` is an aggregate and `min(?a, ?b)` a function; the names of tests are reserved, so that
`contains(?x, "a")` in a body is never an atom.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Builtin:
    """How many arguments a built-in takes; `most` is None if there is no limit."""

    least: int
    most: int | None

    def accepts(self, count: int) -> bool:
        """Whether `count` arguments are legal."""
        return self.least <= count and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.least} or more arguments"
        if self.least != self.most:
            return f"{self.least} to {self.most} arguments"
        return "1 argument" if self.least == 1 else f"{self.least} arguments"


FUNCTIONS = {
    "abs": Builtin(1, 1),
    "min": Builtin(2, None),
    "max": Builtin(2, None),
    "concat": Builtin(1, None),
    "length": Builtin(1, 1),
    "substring": Builtin(2, 3),
    "lower": Builtin(1, 1),
    "upper": Builtin(1, 1),
    "to_string": Builtin(1, 1),
    "to_number": Builtin(1, 1),
    "str": Builtin(1, 1),
    "datatype": Builtin(1, 1),
    "lang": Builtin(1, 1),
    "skolem": Builtin(1, None),
}
"""Built-ins that are values in an expression."""

TESTS = {
    "contains": Builtin(2, 2),
    "starts_with": Builtin(2, 2),
    "ends_with": Builtin(2, 2),
    "matches": Builtin(2, 2),
    "is_iri": Builtin(1, 1),
    "is_blank": Builtin(1, 1),
    "is_literal": Builtin(1, 1),
    "is_string": Builtin(1, 1),
    "is_number": Builtin(1, 1),
    "is_integer": Builtin(1, 1),
    "is_decimal": Builtin(1, 1),
    "is_double": Builtin(1, 1),
    "is_boolean": Builtin(1, 1),
}
"""Built-ins that are literals of a body."""

AGGREGATES = {
    "count": Builtin(1, 1),
    "sum": Builtin(1, 1),
    "min": Builtin(1, 1),
    "max": Builtin(1, 1),
    "avg": Builtin(1, 1),
}
"""Built-ins that are arguments of a head; only `count` takes `distinct`."""

MONOTONE_AGGREGATES = frozenset({"min", "max"})
"""Aggregates that may be used through recursion."""

NAMES = frozenset(FUNCTIONS) | frozenset(TESTS) | frozenset(AGGREGATES)


def is_aggregate(name: str, count: int, *, distinct: bool) -> bool:
    """Whether a call of `name` with `count` arguments is an aggregate, not a function."""
    if distinct:
        return True
    return name in AGGREGATES and not (name in FUNCTIONS and count != 1)
