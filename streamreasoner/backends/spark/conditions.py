"""Conditions of rules on terms. Invariant: no value, no match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.algebra import Comparison, Operator, Test
from streamreasoner.plan.expressions import COPY
from streamreasoner.rdf import functions
from streamreasoner.rdf.functions.order import compare

if TYPE_CHECKING:
    from collections.abc import Callable

# Results of a comparison that satisfy an operator; None: the terms cannot be compared.
_SATISFYING: dict[Operator, tuple[int | None, ...]] = {
    Operator.EQ: (0,),
    Operator.NE: (-1, 1, None),
    Operator.LT: (-1,),
    Operator.LE: (-1, 0),
    Operator.GT: (1,),
    Operator.GE: (0, 1),
}


def holds(condition: Comparison | Test) -> Callable[..., bool]:
    """The function of canonical terms that says whether a condition holds."""
    if isinstance(condition, Test):
        function = condition.function
        wanted = not condition.negated
        return lambda *terms: functions.test(function, terms) is wanted
    satisfying = _SATISFYING[condition.operator]
    return lambda left, right: compare(left, right) in satisfying


def value_of(function: str) -> Callable[..., str | None]:
    """The function of canonical terms that computes a value."""
    if function == COPY:
        return lambda term: term
    return lambda *terms: functions.apply(function, terms)
