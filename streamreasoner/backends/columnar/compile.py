"""Delta plans into the tables that the kernels read. Invariant: one class per set of constants met.

The walk over a delta plan is the engine's; the leaves here return instructions. What the constants
of a fact decide (its stratum, the arrangements it is in, the plans it drives) is worked out once
for every combination of constants the program can tell apart: a *class*, found by walking a trie.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from streamreasoner.backends.columnar import layout
from streamreasoner.backends.columnar.slots import mix
from streamreasoner.engine.evaluate import evaluate
from streamreasoner.errors import EngineError
from streamreasoner.plan.algebra import (
    Age,
    Arrangement,
    Column,
    Delta,
    DeltaPlan,
    Filter,
    Join,
    Operand,
    Operator,
    Pattern,
    ProgramPlan,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

Constants: TypeAlias = tuple[tuple[int, int], ...]
"""(position, term id) pairs that a fact must have."""

# Bits of the comparison results -1, 0, 1 and 2 (not comparable) that satisfy an operator.
_SATISFYING = {
    Operator.LT: 0b0001,
    Operator.EQ: 0b0010,
    Operator.GT: 0b0100,
    Operator.LE: 0b0011,
    Operator.GE: 0b0110,
    Operator.NE: 0b1101,
}


@dataclass(frozen=True, slots=True)
class ProgramTables:
    """The program as the kernels read it: one array per column of the address table."""

    columns: dict[int, NDArray[np.int32] | NDArray[np.int64]]
    relations: dict[str, int]
    strata: int
    arrangements: int
    trie_mask: int


@dataclass(frozen=True, slots=True)
class _Stage:
    """What is done with each matching fact: arguments to bind, to check, and filters."""

    binds: tuple[tuple[int, int], ...]
    checks: tuple[tuple[int, int], ...]
    filters: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    stage: _Stage
    kind: int
    target: int
    key: tuple[int, ...]
    old: bool


@dataclass(frozen=True, slots=True)
class _Fragment:
    """Instructions of a plan, up to one of its nodes."""

    slots: dict[str, int]
    start: _Stage
    steps: tuple[_Step, ...] = ()
    head: tuple[int, tuple[int, ...]] | None = None

    def filtered(self, instruction: tuple[int, int, int]) -> _Fragment:
        """The fragment with one more filter, on its last stage."""
        if not self.steps:
            stage = replace(self.start, filters=(*self.start.filters, instruction))
            return replace(self, start=stage)
        *front, last = self.steps
        stage = replace(last.stage, filters=(*last.stage.filters, instruction))
        return replace(self, steps=(*front, replace(last, stage=stage)))


@dataclass(slots=True)
class _Instructions:
    """The leaves of the walk: each returns the fragment of its node."""

    intern: Callable[[str], int]
    relations: dict[str, int]
    arrangements: dict[Arrangement, int] = field(default_factory=dict)

    def delta(self, node: Delta) -> _Fragment:
        """Bind the arguments of the delta's fact."""
        slots: dict[str, int] = {}
        return _Fragment(slots, _stage(node.pattern, slots, frozenset()))

    def join(self, node: Join, left: _Fragment) -> _Fragment:
        """Probe an arrangement, or look the one fact up when every argument is known."""
        pattern = node.pattern
        known = len(node.key) + len(pattern.constants)
        if known == len(pattern.arguments):
            kind, target = layout.LOOKUP, self.relations[pattern.predicate]
            key = tuple(self._code(a, left.slots) for a in pattern.arguments if a is not None)
        else:
            kind = layout.PROBE
            target = self.arrangements.setdefault(node.arrangement, len(self.arrangements))
            key = tuple(self._code(pattern.arguments[p], left.slots) for p in node.key)
        slots = dict(left.slots)
        stage = _stage(pattern, slots, frozenset(left.slots))
        step = _Step(stage, kind, target, key, old=node.age is Age.OLD)
        return _Fragment(slots, left.start, (*left.steps, step))

    def filter(self, node: Filter, left: _Fragment) -> _Fragment:
        """Test a comparison right after the stage that binds its last column."""
        return left.filtered(
            (
                _SATISFYING[node.operator],
                self._code(node.left, left.slots),
                self._code(node.right, left.slots),
            )
        )

    def project(self, left: _Fragment, head: Pattern) -> _Fragment:
        """Name the head fact."""
        cells = tuple(self._code(argument, left.slots) for argument in head.arguments)
        return replace(left, head=(self.relations[head.predicate], cells))

    def _code(self, operand: Operand | None, slots: dict[str, int]) -> int:
        """A slot, or a constant as the complement of its id."""
        match operand:
            case Column(name):
                return slots[name]
            case Value(term):
                return ~self.intern(term)
            case None:
                raise AssertionError("A wildcard is never an operand.")


def _stage(pattern: Pattern, slots: dict[str, int], bound: frozenset[str]) -> _Stage:
    """Bind the first position of every new column, check its other ones; *slots* gains them."""
    binds: list[tuple[int, int]] = []
    checks: list[tuple[int, int]] = []
    for position, argument in enumerate(pattern.arguments):
        if not isinstance(argument, Column) or argument.name in bound:
            continue
        if argument.name in slots:
            checks.append((position, slots[argument.name]))
        else:
            slots[argument.name] = len(slots)
            binds.append((position, slots[argument.name]))
    return _Stage(tuple(binds), tuple(checks))


def compile_program(plan: ProgramPlan, intern: Callable[[str], int]) -> ProgramTables:
    """Compile every delta plan of a program.

    Args:
        plan: The program.
        intern: Gives the id of a term in canonical N-Triples syntax.

    Raises:
        EngineError: The program is larger than the kernels' tables allow.
    """
    relations = {predicate: index for index, predicate in enumerate(sorted(plan.arities))}
    leaves = _Instructions(intern, relations)
    plans = [(s, p) for s, stratum in enumerate(plan.strata, start=1) for p in stratum.plans]
    fragments = [evaluate(delta_plan, leaves) for _, delta_plan in plans]
    for (_, delta_plan), fragment in zip(plans, fragments, strict=True):
        _check_size(delta_plan, fragment)

    operands = _Operands()
    classes = _Classes(plan, plans, leaves.arrangements, relations, intern)
    roots = [classes.trie(predicate) for predicate in relations]
    plan_rows = np.zeros((max(len(fragments), 1), layout.PLAN_WIDTH), np.int32)
    step_rows: list[list[int]] = []
    for row, fragment in zip(plan_rows, fragments, strict=False):
        assert fragment.head is not None  # noqa: S101 - `project` is the last leaf of every walk
        relation, cells = fragment.head
        row[:11] = [
            *operands.stage(fragment.start),
            len(step_rows),
            len(fragment.steps),
            relation,
            operands.add(cells),
            len(cells),
        ]
        step_rows.extend(
            [
                *operands.stage(step.stage),
                operands.add(step.key),
                len(step.key),
                step.kind,
                step.target,
                int(step.old),
                0,
            ]
            for step in fragment.steps
        )
    keys = [(operands.add(a.key), len(a.key)) for a in leaves.arrangements]
    trie_slots = classes.trie_slots()
    return ProgramTables(
        columns={
            layout.RELATIONS: _int32(
                [x for p, r in zip(relations, roots, strict=True) for x in (plan.arities[p], r)]
            ),
            layout.CLASSES: _int32([x for row in classes.rows for x in row]),
            layout.LINK_OFFSETS: _int32([x for row in classes.link_offsets() for x in row]),
            layout.MEMBERSHIPS: _int32(classes.memberships),
            layout.ARRANGEMENTS: _int32([x for pair in keys for x in pair]),
            layout.TRIE_NODES: _int32([x for node in classes.nodes for x in node]),
            layout.TRIE_SLOTS: trie_slots,
            layout.DISPATCH: _int32(classes.dispatch),
            layout.DISPATCHED: _int32(classes.dispatched),
            layout.CLASS_SIZES: np.zeros(len(classes.rows), np.int32),
            layout.PLANS: plan_rows.reshape(-1),
            layout.STEPS: _int32([x for row in step_rows for x in row]),
            layout.OPERANDS: _int32(operands.values),
        },
        relations=relations,
        strata=len(plan.strata) + 1,
        arrangements=len(leaves.arrangements),
        trie_mask=len(trie_slots) // 2 - 1,
    )


@dataclass(slots=True)
class _Operands:
    """The pool that plans, steps and arrangements point into."""

    values: list[int] = field(default_factory=list)

    def add(self, values: Iterable[int]) -> int:
        """Append; returns where."""
        start = len(self.values)
        self.values.extend(values)
        return start

    def stage(self, stage: _Stage) -> list[int]:
        """The six fields that plans and steps have in common."""
        return [
            self.add(x for pair in stage.binds for x in pair),
            len(stage.binds),
            self.add(x for pair in stage.checks for x in pair),
            len(stage.checks),
            self.add(x for triple in stage.filters for x in triple),
            len(stage.filters),
        ]


class _Classes:
    """The classes of facts that a program tells apart, and the tries that find them."""

    def __init__(
        self,
        plan: ProgramPlan,
        plans: list[tuple[int, DeltaPlan]],
        arrangements: dict[Arrangement, int],
        relations: dict[str, int],
        intern: Callable[[str], int],
    ) -> None:
        def encode(constants: tuple[tuple[int, str], ...]) -> Constants:
            return tuple((position, intern(term)) for position, term in constants)

        self._arities = plan.arities
        self._relations = relations
        self._arrangement_count = len(arrangements)
        self._strata = len(plan.strata) + 1
        self._arranged = [(a.predicate, encode(a.constants), i) for a, i in arrangements.items()]
        self._driven = [
            (p.delta.predicate, encode(p.delta.constants), stratum, index)
            for index, (stratum, p) in enumerate(plans)
        ]
        self._heads = [
            (head.predicate, encode(head.constants), number)
            for number, stratum in enumerate(plan.strata, start=1)
            for head in stratum.heads
        ]
        self._patterns = [
            *((name, constants) for name, constants, _ in self._arranged),
            *((name, constants) for name, constants, _, _ in self._driven),
            *((name, constants) for name, constants, _ in self._heads),
        ]
        self.nodes: list[tuple[int, int]] = []
        self.rows: list[list[int]] = []
        self.memberships: list[int] = []
        self.dispatch: list[int] = []
        self.dispatched: list[int] = []
        self._children: list[tuple[int, int, int]] = []

    def trie(self, predicate: str) -> int:
        """Build the trie of a predicate; returns its root."""
        patterns: frozenset[Constants] = frozenset(
            constants for name, constants in self._patterns if name == predicate and constants
        )
        return self._node(predicate, 0, patterns, {})

    def trie_slots(self) -> NDArray[np.int64]:
        """The children of trie nodes as an open-addressing table of (key, child) pairs."""
        size = 8
        while size < 2 * len(self._children):
            size *= 2
        slots = np.full(2 * size, -1, np.int64)
        for node, constant, child in self._children:
            key = (node << 32) | constant
            i = mix(0, key) & (size - 1)
            while slots[2 * i + 1] >= 0:
                i = (i + 1) & (size - 1)
            slots[2 * i : 2 * i + 2] = key, child
        return slots

    def link_offsets(self) -> list[list[int]]:
        """By class and arrangement: word of the link in a record, or -1."""
        offsets = []
        for row in self.rows:
            first = row[layout.CLASS_MEMBERSHIPS]
            members = self.memberships[first : first + row[layout.CLASS_LINK_COUNT]]
            found = dict.fromkeys(range(self._arrangement_count), -1)
            found.update({a: row[layout.CLASS_LINKS] + 2 * i for i, a in enumerate(members)})
            offsets.append(list(found.values()))
        return offsets

    def _node(
        self,
        predicate: str,
        position: int,
        alive: frozenset[Constants],
        known: dict[tuple[int, frozenset[Constants]], int],
    ) -> int:
        """The node that tells facts apart from *position* on; *alive* may still be satisfied."""
        arity = self._arities[predicate]
        while position < arity and not any(position in dict(p) for p in alive):
            position += 1
        if (position, alive) in known:
            return known[position, alive]
        node = len(self.nodes)
        known[position, alive] = node
        if position == arity:
            self.nodes.append((-1, self._add_class(predicate, alive)))
            return node
        self.nodes.append((position, -1))
        indifferent = frozenset(p for p in alive if position not in dict(p))
        default = self._node(predicate, position + 1, indifferent, known)
        self.nodes[node] = (position, default)
        for constant in sorted({dict(p)[position] for p in alive - indifferent}):
            agreeing = frozenset(p for p in alive if dict(p).get(position, constant) == constant)
            child = self._node(predicate, position + 1, agreeing, known)
            self._children.append((node, constant, child))
        return node

    def _add_class(self, predicate: str, satisfied: frozenset[Constants]) -> int:
        def applies(name: str, constants: Constants) -> bool:
            return name == predicate and (not constants or constants in satisfied)

        strata = {stratum for name, c, stratum in self._heads if applies(name, c)}
        assert len(strata) <= 1, "Rules whose heads unify share a stratum."  # noqa: S101
        members = [i for name, c, i in self._arranged if applies(name, c)]
        arity = self._arities[predicate]
        links = layout.CELLS + arity
        words = links + 2 * len(members)
        self.rows.append(
            [
                self._relations[predicate],
                arity,
                (words + 1) // 2,
                next(iter(strata), 0),
                links,
                len(self.memberships),
                len(members),
                0,
            ]
        )
        self.memberships.extend(members)
        for stratum in range(self._strata):
            driven = [
                index
                for name, c, where, index in self._driven
                if where == stratum and applies(name, c)
            ]
            self.dispatch.extend((len(self.dispatched), len(driven)))
            self.dispatched.extend(driven)
        if len(self.rows) > layout.CLASS_BITS:
            raise EngineError(
                f"The program's constants tell more than {layout.CLASS_BITS} kinds of facts apart."
            )
        return len(self.rows) - 1


def _check_size(plan: DeltaPlan, fragment: _Fragment) -> None:
    arity = max(len(p.arguments) for p in (plan.head, *(j.pattern for j in plan.joins)))
    for found, limit, what in (
        (arity, layout.MAX_ARITY, "arguments in one atom"),
        (len(fragment.slots), layout.MAX_VARIABLES, "variables in one rule"),
        (len(fragment.steps), layout.MAX_STEPS, "body atoms in one rule"),
    ):
        if found > limit:
            raise EngineError(f"A rule for {plan.head.predicate} has {found} {what}; {limit} fit.")


def _int32(values: list[int]) -> NDArray[np.int32]:
    return np.array(values or [0], dtype=np.int32)
