"""Delta plans. Invariant: the plans of a rule sum to its new derivations minus its old ones.

For a body A1..An and a delta in some of its atoms,

    Δ(A1 ⋈ … ⋈ An) = Σj  new A1 ⋈ … ⋈ new A(j-1) ⋈ ΔAj ⋈ old A(j+1) ⋈ … ⋈ old An

so each atom drives one plan, which reads the new state of the atoms before it and the old state of
those after it. A negated atom stands for the complement of its facts, whose delta has the opposite
sign. The join order of a plan is free, because joins are commutative.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, TypeAlias, assert_never

from streamreasoner.plan.algebra import Age, Antijoin, Delta, Extend, Join, Project, Scan, Select
from streamreasoner.plan.operands import Comparison, Computation, Test
from streamreasoner.plan.program_plan import DeltaPlan, RulePlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from streamreasoner.plan.algebra import Relation
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_plan import RuleBody

_Condition: TypeAlias = Comparison | Computation | Test


def differentiate(body: RuleBody) -> RulePlan:
    """One delta plan per atom: the positive ones, then the negated ones."""
    count = len(body.patterns) + len(body.negated)
    return RulePlan(body, tuple(_driven_by(j, body) for j in range(count)))


def _driven_by(j: int, body: RuleBody) -> DeltaPlan:
    positive = len(body.patterns)
    atoms = (*body.patterns, *body.negated)
    pending = _Pending(body.conditions)
    delta = Delta(atoms[j], negated=j >= positive)
    node = pending.applied(delta, atoms[j].columns)
    costs = {
        i: _cost(atoms[i], pending.bound, negated=i >= positive)
        for i in range(len(atoms))
        if i != j
    }
    readers = _readers(atoms)
    while costs:
        i = min(costs, key=costs.__getitem__)
        del costs[i]
        scan = Scan(atoms[i], Age.NEW if i < j else Age.OLD)
        operator = Join if i < positive else Antijoin
        before = len(pending.order)
        node = pending.applied(operator(node, scan), atoms[i].columns)
        for k in {k for name in pending.order[before:] for k in readers.get(name, ())}:
            if k in costs:
                costs[k] = _cost(atoms[k], pending.bound, negated=k >= positive)
    return DeltaPlan(Project(node, body.head))


def _readers(atoms: Sequence[Pattern]) -> dict[str, list[int]]:
    """The indexes of the atoms with a column, by its name."""
    readers: dict[str, list[int]] = {}
    for i, atom in enumerate(atoms):
        for name in atom.columns:
            readers.setdefault(name, []).append(i)
    return readers


def _cost(
    pattern: Pattern, bound: AbstractSet[str], *, negated: bool
) -> tuple[int, bool, int, int]:
    """Sort key, best first: joined rather than a product, few free positions, many constants.

    A negated atom only removes rows, so it goes first when its columns are bound, and last until
    then. Of atoms with equally many free positions, the one with more constants is smaller.
    """
    fixed = len(pattern.bound_positions(bound))
    constants = len(pattern.constants)
    free = len(pattern.arguments) - fixed - constants
    if negated:
        return (-1 if free == 0 else 1, False, 0, 0)
    return (0, fixed == 0, free, -constants)


class _Pending:
    """The pending conditions of a rule, and the bound columns.

    Attributes:
        bound: Bound columns.
        order: Bound columns, in binding order.
    """

    def __init__(self, conditions: Sequence[_Condition]) -> None:
        self.bound: set[str] = set()
        self.order: list[str] = []
        self._conditions = conditions
        self._readers: dict[str, list[int]] = {}
        self._unbound_counts: list[int] = []
        # A heap: tests before computations, which cost more, and otherwise textual order.
        self._ready: list[tuple[bool, int]] = []
        for number, condition in enumerate(conditions):
            needs = condition.needs
            self._unbound_counts.append(len(needs))
            for name in needs:
                self._readers.setdefault(name, []).append(number)
            if not needs:
                self._make_ready(number)

    def applied(self, node: Relation, columns: Iterable[str]) -> Relation:
        """Bind columns, then apply every condition that reads only bound columns."""
        for name in columns:
            self._bind(name)
        while self._ready:
            _, number = heappop(self._ready)
            condition = self._conditions[number]
            node = _apply(node, condition)
            if isinstance(condition, Computation):
                self._bind(condition.column)
        return node

    def _bind(self, name: str) -> None:
        if name in self.bound:
            return
        self.bound.add(name)
        self.order.append(name)
        for number in self._readers.get(name, ()):
            self._unbound_counts[number] -= 1
            if not self._unbound_counts[number]:
                self._make_ready(number)

    def _make_ready(self, number: int) -> None:
        heappush(self._ready, (isinstance(self._conditions[number], Computation), number))


def _apply(node: Relation, condition: _Condition) -> Relation:
    match condition:
        case Computation():
            return Extend(node, condition)
        case Comparison() | Test():
            return Select(node, condition)
        case _:
            assert_never(condition)
