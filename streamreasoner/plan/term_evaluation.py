"""Conditions and computations on the terms of a row. Invariant: without a value, nothing holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from streamreasoner.plan.operands import COPY, Comparison, Test, Value
from streamreasoner.values import builtins
from streamreasoner.values.comparison import compare
from streamreasoner.values.formula import compute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.plan.operands import Computation, Operand, Pattern


def term(operand: Operand, terms: Mapping[str, str]) -> str:
    """The constant, or the term of the column."""
    return operand.term if isinstance(operand, Value) else terms[operand.name]


def matched(
    pattern: Pattern, arguments: tuple[str, ...], terms: Mapping[str, str]
) -> dict[str, str] | None:
    """The terms with those of a fact that matches a pattern under them; None if it does not."""
    found = dict(terms)
    for operand, argument in zip(pattern.arguments, arguments, strict=True):
        if operand is not None:
            expected = (
                operand.term
                if isinstance(operand, Value)
                else found.setdefault(operand.name, argument)
            )
            if expected != argument:
                return None
    return found


def value(computation: Computation, terms: Mapping[str, str]) -> str | None:
    """The value of a computation; None if it has none."""
    operands = [term(operand, terms) for operand in computation.arguments]
    if computation.function == COPY:
        return operands[0]
    return compute(computation.function, operands)


def holds(condition: Comparison | Test, terms: Mapping[str, str]) -> bool:
    """Whether a condition holds."""
    match condition:
        case Comparison(left, operator, right):
            return operator.accepts(compare(term(left, terms), term(right, terms)))
        case Test(function, arguments, negated):
            operands = [term(operand, terms) for operand in arguments]
            return builtins.test(function, operands) is (not negated)
        case _:
            assert_never(condition)
