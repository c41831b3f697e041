"""Delta plans. Invariant: the plans of a rule, summed, are what the rule derives new minus old.

For a body A1..An and a delta in some of its atoms,

    Δ(A1 ⋈ … ⋈ An) = Σj  new A1 ⋈ … ⋈ new A(j-1) ⋈ ΔAj ⋈ old A(j+1) ⋈ … ⋈ old An

so every atom drives one plan, in which the atoms before it are read new and those after it old. A
negated atom is an atom like the others: the facts of its complement, whose delta is that of the
atom with the opposite sign. The order in which a plan joins is free, as the sum is bilinear.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, assert_never

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

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet


def differentiate(body: RuleBody) -> RulePlan:
    """One delta plan for each atom of the rule: the positive ones, then the negated ones."""
    count = len(body.patterns) + len(body.negated)
    return RulePlan(body, tuple(_driven_by(j, body) for j in range(count)))


def _driven_by(j: int, body: RuleBody) -> DeltaPlan:
    positive = len(body.patterns)
    atoms = (*body.patterns, *body.negated)
    waiting = _Waiting(body.conditions)
    node = waiting.applied(Delta(atoms[j], negated=j >= positive), atoms[j].columns)
    costs = {
        i: _cost(atoms[i], waiting.bound, negated=i >= positive)
        for i in range(len(atoms))
        if i != j
    }
    readers = _readers(atoms)
    while costs:
        i = min(costs, key=costs.__getitem__)
        del costs[i]
        age = Age.NEW if i < j else Age.OLD
        operator = Join if i < positive else Antijoin
        before = len(waiting.order)
        node = waiting.applied(operator(node, atoms[i], age), atoms[i].columns)
        for k in {k for name in waiting.order[before:] for k in readers.get(name, ())}:
            if k in costs:
                costs[k] = _cost(atoms[k], waiting.bound, negated=k >= positive)
    return DeltaPlan(node, body.head)


def _readers(atoms: Sequence[Pattern]) -> dict[str, list[int]]:
    """The atoms that have a column, by its name."""
    readers: dict[str, list[int]] = {}
    for i, atom in enumerate(atoms):
        for name in atom.columns:
            readers.setdefault(name, []).append(i)
    return readers


def _cost(
    pattern: Pattern, bound: AbstractSet[str], *, negated: bool
) -> tuple[int, bool, int, int]:
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


class _Waiting:
    """The conditions of a rule that are not applied yet, and the columns that are bound.

    Attributes:
        bound: Columns that are bound.
        order: The same, in the order in which they were bound.
    """

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self.bound: set[str] = set()
        self.order: list[str] = []
        self._conditions = conditions
        self._readers: dict[str, list[int]] = {}
        self._lacking: list[int] = []
        for number, condition in enumerate(conditions):
            needs = condition.needs
            self._lacking.append(len(needs))
            for name in needs:
                self._readers.setdefault(name, []).append(number)
        self._ready = [number for number, lacking in enumerate(self._lacking) if not lacking]

    def applied(self, node: Node, columns: Iterable[str]) -> Node:
        """Bind columns, then apply every condition that reads none but bound ones.

        They are applied in the order of the rule, and again from the first as long as a computation
        binds what an earlier one reads.
        """
        for name in columns:
            self._bind(name)
        while self._ready:
            current, self._ready = self._ready, []
            heapify(current)
            while current:
                number = heappop(current)
                condition = self._conditions[number]
                node = _apply(node, condition)
                if isinstance(condition, Computation):
                    self._bind(condition.column)
                    for later in [each for each in self._ready if each > number]:
                        self._ready.remove(later)
                        heappush(current, later)
        return node

    def _bind(self, name: str) -> None:
        if name in self.bound:
            return
        self.bound.add(name)
        self.order.append(name)
        for number in self._readers.get(name, ()):
            self._lacking[number] -= 1
            if not self._lacking[number]:
                self._ready.append(number)


def _apply(node: Node, condition: Condition) -> Node:
    match condition:
        case Computation():
            return Extend(node, condition)
        case Comparison() | Test():
            return Filter(node, condition)
        case _:
            assert_never(condition)
