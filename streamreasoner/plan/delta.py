"""Delta plans. Invariant: the plans of a rule, summed, are what the rule derives new minus old.

For a body A1..An and a delta in some of its atoms,

    Δ(A1 ⋈ … ⋈ An) = Σj  new A1 ⋈ … ⋈ new A(j-1) ⋈ ΔAj ⋈ old A(j+1) ⋈ … ⋈ old An

so every atom drives one plan, in which the atoms before it are read new and those after it old. A
negated atom is an atom like the others: the facts of its complement, whose delta is that of the
atom with the opposite sign. The order in which a plan joins is free, as the sum is bilinear.
"""

from __future__ import annotations

from typing import assert_never

from streamreasoner.plan.algebra import (
    Age,
    Antijoin,
    Comparison,
    Computation,
    Condition,
    Delta,
    DeltaPlan,
    Extend,
    Filter,
    Join,
    Node,
    Pattern,
    RuleBody,
    RulePlan,
    Test,
)


def differentiate(body: RuleBody) -> RulePlan:
    """One delta plan for each atom of the rule: the positive ones, then the negated ones."""
    count = len(body.patterns) + len(body.negated)
    return RulePlan(body, tuple(_driven_by(j, body) for j in range(count)))


def _driven_by(j: int, body: RuleBody) -> DeltaPlan:
    positive = len(body.patterns)
    atoms = (*body.patterns, *body.negated)
    waiting = list(body.conditions)
    remaining = [i for i in range(len(atoms)) if i != j]
    node = _conditioned(Delta(atoms[j], negated=j >= positive), waiting)
    while remaining:
        i = min(
            remaining,
            key=lambda i: _cost(atoms[i], node.columns, negated=i >= positive),
        )
        remaining.remove(i)
        age = Age.NEW if i < j else Age.OLD
        operator = Join if i < positive else Antijoin
        node = _conditioned(operator(node, atoms[i], age), waiting)
    return DeltaPlan(node, body.head)


def _cost(pattern: Pattern, bound: frozenset[str], *, negated: bool) -> tuple[int, bool, int, int]:
    """Sort key, best first: joined at all, positions left open, constants.

    A negated atom can only take rows away, so it goes first when its columns are bound, and last
    until then. Of atoms that leave as much open, the one with more constants is the smaller one.
    """
    fixed = len(pattern.bound_positions(bound))
    constants = len(pattern.constants)
    loose = len(pattern.arguments) - fixed - constants
    if negated:
        return (-1 if loose == 0 else 1, False, 0, 0)
    return (0, fixed == 0, loose, -constants)


def _conditioned(node: Node, waiting: list[Condition]) -> Node:
    """Apply, and take off the list, every condition whose columns the node binds."""
    found = True
    while found:
        found = False
        for condition in tuple(waiting):
            if condition.needs <= node.columns:
                waiting.remove(condition)
                node = _apply(node, condition)
                found = True
    return node


def _apply(node: Node, condition: Condition) -> Node:
    match condition:
        case Computation():
            return Extend(node, condition)
        case Comparison() | Test():
            return Filter(node, condition)
        case _:
            assert_never(condition)
