"""The order of a delta plan. Invariant: it has the rows of the tree, whose order is free.

Joins are commutative and conditions may run as soon as their columns are bound, so a plan starts
with the delta, which is small, and joins one atom at a time.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, TypeAlias, assert_never

from streamreasoner.plan import algebra
from streamreasoner.plan.operands import Comparison, Computation, Test
from streamreasoner.plan.order.expected import Expected
from streamreasoner.plan.program_plan import DeltaPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from streamreasoner.plan.operands import Pattern

PlanAtom: TypeAlias = tuple[type[algebra.Join] | type[algebra.Antijoin], algebra.Scan]
"""How an atom is joined, and what it scans."""


def left_deep(
    tree: algebra.Project, expected: Mapping[Pattern, Expected] | None = None
) -> DeltaPlan:
    """Order the atoms of a tree with one delta, the cheapest first, and its conditions.

    Args:
        tree: The tree.
        expected: How many facts match each atom; None if that shall not matter.
    """
    delta, atoms = _atoms(tree)
    pending = _Pending(tree.conditions)
    rows = pending.applied(delta, delta.pattern.columns)
    facts = [(expected or {}).get(scan.pattern, Expected.SOME) for _, scan in atoms]
    costs = {i: cost(atom, pending.bound, facts[i]) for i, atom in enumerate(atoms)}
    readers = _readers(atoms)
    while costs:
        i = min(costs, key=costs.__getitem__)
        del costs[i]
        operator, scan = atoms[i]
        before = len(pending.order)
        rows = pending.applied(operator(rows, scan), scan.pattern.columns)
        for k in {k for name in pending.order[before:] for k in readers.get(name, ())}:
            if k in costs:
                costs[k] = cost(atoms[k], pending.bound, facts[k])
    return DeltaPlan(algebra.Project(rows, tree.head))


def _atoms(tree: algebra.Project) -> tuple[algebra.Delta, list[PlanAtom]]:
    """The delta; the atoms to join, then those to antijoin, in textual order."""
    nodes = algebra.positive(tree.input)
    deltas = [node for node in nodes if isinstance(node, algebra.Delta)]
    if len(deltas) != 1:
        raise algebra.PlanError(f"A delta plan has one delta, not {len(deltas)}.")
    joined: list[PlanAtom] = [
        (algebra.Join, node) for node in nodes if isinstance(node, algebra.Scan)
    ]
    absent: list[PlanAtom] = [
        (algebra.Antijoin, node.scan) for node in nodes if isinstance(node, algebra.Antijoin)
    ]
    return deltas[0], [*joined, *absent]


def _readers(atoms: Sequence[PlanAtom]) -> dict[str, list[int]]:
    """The indexes of the atoms with a column, by its name."""
    readers: dict[str, list[int]] = {}
    for i, (_, scan) in enumerate(atoms):
        for name in scan.pattern.columns:
            readers.setdefault(name, []).append(i)
    return readers


def cost(
    atom: PlanAtom, bound: AbstractSet[str], facts: Expected
) -> tuple[int, bool, bool, int, int, int]:
    """Sort key, best first: joined rather than a product, few free positions, many constants.

    A negated atom only removes rows, so it goes first when its columns are bound, and last until
    then. An atom without free positions adds none; of the others, those with fewer facts go first.
    Of atoms with equally many free positions, the one with more constants is smaller.
    """
    operator, scan = atom
    pattern = scan.pattern
    if operator is algebra.Antijoin:
        return (-1 if bound >= set(pattern.columns) else 1, False, False, 0, 0, 0)
    fixed = len(pattern.bound_positions(bound))
    constants = len(pattern.constants)
    free = len(pattern.arguments) - fixed - constants
    return (0, fixed == 0, free > 0, facts, free, -constants)


class _Pending:
    """The pending conditions of a rule, and the bound columns.

    Attributes:
        bound: Bound columns.
        order: Bound columns, in binding order.
    """

    def __init__(self, conditions: Sequence[Comparison | Computation | Test]) -> None:
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

    def applied(self, node: algebra.PlanTree, columns: Iterable[str]) -> algebra.PlanTree:
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


def _apply(node: algebra.PlanTree, condition: Comparison | Computation | Test) -> algebra.PlanTree:
    match condition:
        case Computation():
            return algebra.Extend(node, condition)
        case Comparison() | Test():
            return algebra.Select(node, condition)
        case _:
            assert_never(condition)
