"""Compile a delta plan to instructions. Invariant: the order is that of the engine's walk.

The leaves of the walk return instructions that the kernels interpret.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.callbacks import code_of
from streamreasoner.backends.columnar.compiler.crossings import Crossing, Sort
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.errors import ProgramError
from streamreasoner.plan.algebra import Age, Arrangement
from streamreasoner.plan.counted import counted
from streamreasoner.plan.operands import Column, Comparison, Operand, Test, Value
from streamreasoner.values.comparison import Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from streamreasoner.plan.algebra import Delta, Scan
    from streamreasoner.plan.operands import Computation, Pattern
    from streamreasoner.plan.program_plan import DeltaPlan

# Bits of the comparison results -1, 0, 1 and 2 (not comparable) that satisfy an operator.
_SATISFYING = {
    operator: sum(operator.accepts(order) << bit for bit, order in enumerate((-1, 0, 1, None)))
    for operator in Operator
}


@dataclass(frozen=True, slots=True)
class OnMatch:
    """What to do with each matching fact: arguments to bind and to check, and conditions."""

    binds: tuple[tuple[int, int], ...] = ()
    checks: tuple[tuple[int, int], ...] = ()
    conditions: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class JoinStep:
    """A join with the facts under a key."""

    stage: OnMatch
    kind: int
    target: int
    key: tuple[int, ...]
    old: bool
    arrangement: Arrangement | None = None
    crossing: Crossing | None = None


@dataclass(frozen=True, slots=True)
class Fragment:
    """Instructions of a plan, up to one of its nodes."""

    slots: dict[str, int]
    start: OnMatch
    sign: int = 1
    steps: tuple[JoinStep, ...] = ()
    head: tuple[int, tuple[int, ...]] | None = None

    @property
    def depths(self) -> dict[int, int]:
        """The number of the step that binds or computes each slot, -1 for the start."""
        stages = (self.start, *(step.stage for step in self.steps))
        return {
            slot: depth
            for depth, stage in enumerate(stages, start=-1)
            for slot in (
                *(slot for _, slot in stage.binds),
                *(condition[2] for condition in stage.conditions if condition[0] == layout.COMPUTE),
            )
        }

    def with_condition(self, condition: tuple[int, ...]) -> Fragment:
        """The fragment with a condition added to its last stage."""
        if not self.steps:
            stage = replace(self.start, conditions=(*self.start.conditions, condition))
            return replace(self, start=stage)
        *front, last = self.steps
        stage = replace(last.stage, conditions=(*last.stage.conditions, condition))
        return replace(self, steps=(*front, replace(last, stage=stage)))

    @property
    def probe(self) -> tuple[int, int]:
        """`layout.PLAN_PROBE` and `PLAN_PROBE_KEY`: the first step, if it probes an index."""
        match self:
            case Fragment(
                start=OnMatch(binds, _, ()),
                steps=(JoinStep(_, layout.PROBE, target, (key,)), *_),
            ):
                places = {slot: position for position, slot in binds}
                return target + 1, places.get(key, key)
            case _:
                return 0, 0

    @property
    def shortcut(self) -> tuple[int, ...] | None:
        """The head as `layout.PLAN_PROBE_HEAD` has it, if the plan only probes one index."""
        match self:
            case Fragment(
                start=OnMatch(binds, (), ()),
                steps=(JoinStep(OnMatch(matched, (), ()), layout.PROBE, _, (_,)),),
                head=(_, head),
            ):
                places = {slot: position for position, slot in binds}
                places |= {slot: layout.MAX_ARITY + position for position, slot in matched}
                return tuple(places.get(code, code) for code in head)
            case _:
                return None

    @property
    def shared_head(self) -> tuple[int, ...]:
        """The head as `layout.PLAN_SHARED_HEAD` has it."""
        places = {slot: position for position, slot in self.start.binds}
        return tuple(
            code if code < 0 else places.get(code, layout.MAX_ARITY) for code in self._cells
        )

    @property
    def kept(self) -> tuple[tuple[int, int], ...]:
        """Slots that hold arguments of the head that matches decide, with their positions."""
        own = {slot for _, slot in self.start.binds}
        cells = enumerate(self._cells)
        return tuple((code, position) for position, code in cells if code >= 0 and code not in own)

    @property
    def _cells(self) -> tuple[int, ...]:
        return () if self.head is None else self.head[1]


@dataclass(slots=True)
class Instructions:
    """The leaves of the walk: each returns the fragment of its node.

    Attributes:
        intern: The id of a constant.
        relations: Number of each predicate.
        number: The number of an arrangement, which is used from now on.
        counter: The number of a counter of the sizes of groups.
        heads: The patterns of the facts that the stratum of the plans derives.
    """

    intern: Callable[[str], int]
    relations: dict[str, int]
    number: Callable[[Arrangement], int]
    counter: Callable[[Arrangement], int]
    heads: tuple[Pattern, ...]

    def delta(self, node: Delta) -> Fragment:
        """Bind the arguments of the delta's fact."""
        slots: dict[str, int] = {}
        stage = _stage(node.pattern, slots, frozenset())
        return Fragment(slots, stage, sign=-1 if node.negated else 1)

    def join(self, scan: Scan, left: Fragment) -> Fragment:
        """Probe an arrangement, read a size, or look up the fact if every argument is bound."""
        pattern = scan.pattern
        arrangement = Arrangement.of(pattern, left.slots.keys())
        groups = counted(pattern, left.slots.keys(), self.heads)
        if groups is not None:
            kind, target = layout.COUNT, self.counter(groups)
            looked_up = tuple(pattern.arguments[position] for position in groups.key)
        elif arrangement is None:
            kind, target = layout.LOOKUP, self.relations[pattern.predicate]
            looked_up = pattern.arguments
        else:
            kind, target = layout.PROBE, self.number(arrangement)
            looked_up = tuple(pattern.arguments[position] for position in arrangement.key)
        key = tuple(self._code(argument, left.slots) for argument in looked_up)
        slots = dict(left.slots)
        stage = _stage(pattern, slots, frozenset(left.slots))
        crossing = _crossing(pattern, left) if kind == layout.LOOKUP else None
        step = JoinStep(stage, kind, target, key, scan.age is Age.OLD, arrangement, crossing)
        return replace(left, slots=slots, steps=(*left.steps, step))

    def antijoin(self, scan: Scan, left: Fragment) -> Fragment:
        """Look up the fact that must be absent."""
        pattern = scan.pattern
        key = tuple(self._code(argument, left.slots) for argument in pattern.arguments)
        target = self.relations[pattern.predicate]
        step = JoinStep(OnMatch(), layout.ABSENT, target, key, old=scan.age is Age.OLD)
        return replace(left, steps=(*left.steps, step))

    def select(self, condition: Comparison | Test, left: Fragment) -> Fragment:
        """Check a condition right after the stage that binds its last column."""
        match condition:
            case Comparison(left_operand, operator, right_operand):
                start = (layout.COMPARE, _SATISFYING[operator], 0)
                arguments: tuple[Operand, ...] = (left_operand, right_operand)
            case Test(function, arguments, negated):
                start = (layout.HOLDS, code_of(function), int(not negated))
        return left.with_condition(self._condition(start, arguments, left.slots))

    def extend(self, computation: Computation, left: Fragment) -> Fragment:
        """Compute a column right after the stage that binds the last one it reads."""
        slots = dict(left.slots)
        kind = layout.MATCH if computation.column in slots else layout.COMPUTE
        slot = slots.setdefault(computation.column, len(slots))
        start = (kind, code_of(computation.function), slot)
        condition = self._condition(start, computation.arguments, left.slots)
        return replace(left.with_condition(condition), slots=slots)

    def project(self, left: Fragment, head: Pattern) -> Fragment:
        """Set the head."""
        cells = tuple(self._code(argument, left.slots) for argument in head.arguments)
        return replace(left, head=(self.relations[head.predicate], cells))

    def _condition(
        self, start: tuple[int, int, int], arguments: tuple[Operand, ...], slots: dict[str, int]
    ) -> tuple[int, ...]:
        codes = tuple(self._code(argument, slots) for argument in arguments)
        return (*start, len(codes), *codes)

    def _code(self, operand: Operand | None, slots: dict[str, int]) -> int:
        """A slot, or ~id for a constant."""
        match operand:
            case Column(name):
                return slots[name]
            case Value(term):
                return ~self.intern(term)
            case None:
                raise AssertionError("A wildcard is never an operand.")


def _crossing(pattern: Pattern, left: Fragment) -> Crossing | None:
    """Where a looked up fact is found by intersecting, if a probe binds one of its two variables.

    The probe must look up an index, as groups of longer keys are not sorted, and must come after
    the step that binds the other variable.
    """
    depths = left.depths
    columns = [
        (depths[left.slots[argument.name]], position, left.slots[argument.name])
        for position, argument in enumerate(pattern.arguments)
        if isinstance(argument, Column)
    ]
    match sorted(columns):
        case [(before, place, key), (depth, position, slot)] if before < depth:
            step = left.steps[depth]
            probed = [at for at, bound in step.stage.binds if bound == slot]
            if probed and step.arrangement is not None and len(step.key) == 1:
                grouped = Arrangement(pattern.predicate, pattern.constants, (place,))
                return Crossing(
                    depth, Sort(step.arrangement, probed[0]), Sort(grouped, position), key
                )
    return None


def _stage(pattern: Pattern, slots: dict[str, int], bound: frozenset[str]) -> OnMatch:
    """Bind the first position of each new column and check the others; extends *slots*."""
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
    return OnMatch(tuple(binds), tuple(checks))


@dataclass(slots=True)
class Operands:
    """The pool that plans, steps and arrangements point into."""

    values: list[int] = field(default_factory=list)

    def add(self, values: Iterable[int]) -> int:
        """Append; returns the offset."""
        start = len(self.values)
        self.values.extend(values)
        return start

    def stage(self, stage: OnMatch) -> list[int]:
        """The six fields shared by plans and steps."""
        return [
            self.add(x for pair in stage.binds for x in pair),
            len(stage.binds),
            self.add(x for pair in stage.checks for x in pair),
            len(stage.checks),
            self.add(x for condition in stage.conditions for x in condition),
            len(stage.conditions),
        ]


def shared_argument(plan: DeltaPlan, heads: Sequence[Pattern]) -> int:
    """`layout.PLAN_SHARED` of a plan in a stratum that derives *heads*."""
    name = plan.shared_by(heads)
    arguments = plan.delta.pattern.arguments
    return 0 if name is None else 1 + arguments.index(Column(name))


def check_size(plan: DeltaPlan, fragment: Fragment) -> None:
    """Reject a rule that is too large for the kernels' tables.

    Raises:
        ProgramError: It has more variables or body atoms than fit.
    """
    for count, limit, what in (
        (len(fragment.slots), layout.MAX_VARIABLES, "variables and computed values"),
        (len(fragment.steps), layout.MAX_STEPS, "body atoms"),
    ):
        if count > limit:
            raise ProgramError(
                f"A rule for '{plan.head.predicate}' has {count} {what}; at most {limit} are"
                " supported. Move part of its body into a predicate of its own."
            )


def check_arities(arities: Mapping[str, int]) -> None:
    """Reject predicates that are too wide for the kernels' tables, whether rules use them or not.

    Raises:
        ProgramError: A predicate has more arguments than fit.
    """
    for predicate, arity in arities.items():
        if arity > layout.MAX_ARITY:
            raise ProgramError(
                f"'{predicate}' has {arity} arguments; at most {layout.MAX_ARITY} are supported."
                " Split it into several predicates that share a key."
            )
