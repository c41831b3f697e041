"""Conditions of rules on terms. Invariant: no value, no match."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from streamreasoner.plan.algebra import Comparison, Operator, Test
from streamreasoner.plan.expressions import COPY
from streamreasoner.rdf import functions
from streamreasoner.rdf.functions.order import compare

if TYPE_CHECKING:
    from collections.abc import Callable

_OPERATORS = {
    Operator.EQ: operator.eq,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}


def holds(condition: Comparison | Test) -> Callable[..., bool]:
    """The function of canonical terms that says whether a condition holds."""
    if isinstance(condition, Test):
        function = condition.function
        wanted = not condition.negated
        return lambda *terms: functions.test(function, terms) is wanted
    if condition.operator is Operator.NE:
        # Terms that cannot be compared are different.
        return lambda left, right: compare(left, right) != 0
    satisfies = _OPERATORS[condition.operator]

    def compares(left: str, right: str) -> bool:
        order = compare(left, right)
        return order is not None and satisfies(order, 0)

    return compares


def value_of(function: str) -> Callable[..., str | None]:
    """The function of canonical terms that computes a value."""
    if function == COPY:
        return lambda term: term
    return lambda *terms: functions.apply(function, terms)
