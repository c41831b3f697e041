"""Expressions as functions. Invariant: what an `if` or `coalesce` does not need is not computed.

An expression has no value if a part of it has none, so its parts are computed one by one. `if` and
`coalesce` are different: they are computed as one function of the variables in them, a formula.

Conditions are true, false or without a value, as in SPARQL 1.1, section 17.2: one that is false
makes a conjunction false, one that is true a disjunction true, whatever the others are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from streamreasoner.values import builtins
from streamreasoner.values.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from streamreasoner.values.comparison import Operator


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the function, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant: a canonical term."""

    term: str


@dataclass(frozen=True, slots=True)
class Applied:
    """A built-in function or an operator."""

    function: str
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class FirstValue:
    """`coalesce`: the value of the first operand that has one."""

    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """`if`: one of two operands; no value if the condition is neither true nor false."""

    condition: Condition
    then: Formula
    otherwise: Formula


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of two values."""

    left: Formula
    operator: Operator
    right: Formula


@dataclass(frozen=True, slots=True)
class Tested:
    """A built-in test, possibly negated."""

    function: str
    operands: tuple[Formula, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Every:
    """A conjunction."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """A disjunction."""

    conditions: tuple[Condition, ...]


Formula: TypeAlias = Argument | Fixed | Applied | FirstValue | Choice
Condition: TypeAlias = Compared | Tested | Every | Some
Function: TypeAlias = "str | Applied | FirstValue | Choice"
"""The name of a built-in function or an operator, or a formula."""


def compute(
    function: Function, terms: Sequence[str], overflowed: Callable[[], object] = lambda: None
) -> str | None:
    """Value of a function.

    Args:
        function: A name or a formula.
        terms: Canonical terms, its arguments.
        overflowed: Called for each part without a value because it does not fit into 64 bits.

    Returns:
        A canonical term; None if the arguments have no such value.
    """
    if isinstance(function, str):
        return builtins.apply(function, terms, overflowed)
    return _Terms(terms, overflowed).value(function)


class _Terms:
    """The arguments of a formula."""

    def __init__(self, terms: Sequence[str], overflowed: Callable[[], object]) -> None:
        self._terms = terms
        self._overflowed = overflowed

    def value(self, formula: Formula) -> str | None:
        """Value of a formula, None if it has none."""
        match formula:
            case Argument(place):
                return self._terms[place]
            case Fixed(term):
                return term
            case Applied(function, operands):
                terms = self._all(operands)
                return None if terms is None else builtins.apply(function, terms, self._overflowed)
            case FirstValue(operands):
                return next((term for term in map(self.value, operands) if term is not None), None)
            case Choice(condition, then, otherwise):
                truth = self._truth(condition)
                return None if truth is None else self.value(then if truth else otherwise)
            case _:
                assert_never(formula)

    def _truth(self, condition: Condition) -> bool | None:
        match condition:
            case Compared(left, operator, right):
                sides = self._all((left, right))
                return None if sides is None else operator.accepts(compare(*sides))
            case Tested(function, operands, negated):
                terms = self._all(operands)
                truth = None if terms is None else builtins.test(function, terms)
                return None if truth is None else truth is not negated
            case Every(conditions):
                return decided(map(self._truth, conditions), by=False)
            case Some(conditions):
                return decided(map(self._truth, conditions), by=True)
            case _:
                assert_never(condition)

    def _all(self, formulas: Sequence[Formula]) -> list[str] | None:
        """The values of formulas, up to the first without one."""
        terms = []
        for formula in formulas:
            term = self.value(formula)
            if term is None:
                return None
            terms.append(term)
        return terms


def decided(truths: Iterable[bool | None], *, by: bool) -> bool | None:
    """The truth that decides, if one has it; else no value, if one has none (SPARQL 1.1, 17.2)."""
    found = set()
    for truth in truths:
        if truth is by:
            return by
        found.add(truth)
    return None if None in found else not by
