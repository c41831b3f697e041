"""Conditions and computations of rules on terms. Invariant: without a value there is no match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.algebra import Comparison, Test
from streamreasoner.plan.expressions import COPY
from streamreasoner.values import builtins
from streamreasoner.values.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Callable


def holds(condition: Comparison | Test) -> Callable[..., bool]:
    """A predicate on canonical terms that tells whether a condition holds."""
    if isinstance(condition, Test):
        function = condition.function
        expected = not condition.negated
        return lambda *terms: builtins.test(function, terms) is expected
    accepts = condition.operator.accepts
    return lambda left, right: accepts(compare(left, right))


def value_of(function: str, overflowed: Callable[[], object]) -> Callable[..., str | None]:
    """A function of canonical terms that computes a value, and calls *overflowed* on overflow."""
    if function == COPY:
        return lambda term: term
    return lambda *terms: builtins.apply(function, terms, overflowed)
