"""Plan nodes of rules over deltas. Invariant: no node reads an unbound column.

A rule body is a join of patterns. A *delta plan* evaluates it for the delta of one body atom: a
chain of joins with the other atoms, conditions as soon as their columns are bound, and the head on
top. Columns are named after the variables of the rule; columns that lowering adds for intermediate
values of expressions start with `#`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias, assert_never

from streamreasoner.errors import StreamReasonerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from streamreasoner.values.comparison import Operator


class PlanError(StreamReasonerError):
    """A plan node would read a column that its input lacks."""


class Age(Enum):
    """The transitions of an atom that a join reads: those before or after the settled delta."""

    OLD = "old"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Column:
    """A variable of the rule, as a column of the plan."""

    name: str


@dataclass(frozen=True, slots=True)
class Value:
    """A constant: a term in canonical N-Triples syntax."""

    term: str


Operand: TypeAlias = Column | Value


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a fact must match, by position: a constant, a column (equal if repeated), or anything.

    Attributes:
        predicate: Name of the predicate.
        arguments: One entry per position; None matches anything and binds nothing.
        columns: Names of the columns, in order of first appearance.
    """

    predicate: str
    arguments: tuple[Operand | None, ...]
    columns: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        names = (argument.name for argument in self.arguments if isinstance(argument, Column))
        object.__setattr__(self, "columns", tuple(dict.fromkeys(names)))

    @property
    def constants(self) -> tuple[tuple[int, str], ...]:
        """(position, term) of every constant, by position."""
        return tuple(
            (position, argument.term)
            for position, argument in enumerate(self.arguments)
            if isinstance(argument, Value)
        )

    def bound_positions(self, columns: AbstractSet[str]) -> tuple[int, ...]:
        """The positions whose column is in *columns*."""
        return tuple(
            position
            for position, argument in enumerate(self.arguments)
            if isinstance(argument, Column) and argument.name in columns
        )


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A trace indexed for a join, restricted to the facts that have the pattern's constants.

    Attributes:
        predicate: Name of the predicate.
        constants: (position, term) of its facts.
        key: Positions that the join looks up.
    """

    predicate: str
    constants: tuple[tuple[int, str], ...]
    key: tuple[int, ...]


# Conditions of a rule body -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two values."""

    left: Operand
    operator: Operator
    right: Operand

    @property
    def needs(self) -> frozenset[str]:
        """Columns that must be bound before evaluation."""
        return _names((self.left, self.right))


@dataclass(frozen=True, slots=True)
class Computation:
    """Bind *column* to the value of a built-in; without a value, nothing matches.

    If the column is already bound, the value must be the same term.
    """

    column: str
    function: str
    arguments: tuple[Operand, ...]

    @property
    def needs(self) -> frozenset[str]:
        """Columns that must be bound before evaluation."""
        return _names(self.arguments)


@dataclass(frozen=True, slots=True)
class Test:
    """A built-in test of values, possibly *negated*; without a value it does not hold."""

    function: str
    arguments: tuple[Operand, ...]
    negated: bool

    @property
    def needs(self) -> frozenset[str]:
        """Columns that must be bound before evaluation."""
        return _names(self.arguments)


Condition: TypeAlias = Comparison | Computation | Test


@dataclass(frozen=True, slots=True)
class RuleBody:
    """A rule in relational algebra: join the patterns, antijoin the negated ones, filter.

    Attributes:
        head: Pattern of the derived facts; no position is open.
        patterns: Positive atoms, at least one.
        negated: Negated atoms; no position is open, and other parts bind their columns.
        conditions: Ordered so that every computation comes after those it reads.
        rule: Index of its source rule in normal form; None if lowering added it.
    """

    head: Pattern
    patterns: tuple[Pattern, ...]
    negated: tuple[Pattern, ...] = ()
    conditions: tuple[Condition, ...] = ()
    rule: int | None = field(default=None, compare=False)


# Nodes of a delta plan ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Delta:
    """The transitions of matching facts that changed in this settle step.

    For a negated atom they have the opposite sign.
    """

    pattern: Pattern
    negated: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """Columns bound above this node."""
        return bound_by(self)


@dataclass(frozen=True, slots=True)
class Join:
    """Join the input with the transitions of a pattern, at all iterations."""

    input: Node
    pattern: Pattern
    age: Age

    @property
    def columns(self) -> frozenset[str]:
        """Columns bound above this node."""
        return bound_by(self)

    @property
    def key(self) -> tuple[int, ...]:
        """Positions of the pattern bound by the input."""
        return self.pattern.bound_positions(self.input.columns)

    @property
    def arrangement(self) -> Arrangement:
        """The arrangement in which this join looks up matches."""
        return Arrangement(self.pattern.predicate, self.pattern.constants, self.key)


@dataclass(frozen=True, slots=True)
class Antijoin:
    """Keep the rows for which the fact of a pattern, from a lower stratum, is absent."""

    input: Node
    pattern: Pattern
    age: Age

    def __post_init__(self) -> None:
        if None in self.pattern.arguments:
            raise PlanError(f"Antijoin with {self.pattern} leaves a position open.")
        _require_bound(frozenset(self.pattern.columns), self.input, "Antijoin")

    @property
    def columns(self) -> frozenset[str]:
        """Columns bound above this node."""
        return bound_by(self)


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep the rows for which a comparison or a test holds."""

    input: Node
    condition: Comparison | Test

    def __post_init__(self) -> None:
        _require_bound(self.condition.needs, self.input, "Filter")

    @property
    def columns(self) -> frozenset[str]:
        """Columns bound above this node."""
        return bound_by(self)


@dataclass(frozen=True, slots=True)
class Extend:
    """Add a column computed from others."""

    input: Node
    computation: Computation

    def __post_init__(self) -> None:
        _require_bound(self.computation.needs, self.input, "Extend")

    @property
    def columns(self) -> frozenset[str]:
        """Columns bound above this node."""
        return bound_by(self)

    @property
    def checks(self) -> bool:
        """Whether the input already binds the column, so that the value is compared with it."""
        return self.computation.column in self.input.columns


Node: TypeAlias = Delta | Join | Antijoin | Filter | Extend


def chain(node: Node) -> Iterator[Node]:
    """The node and all nodes below it, ending with the delta."""
    while not isinstance(node, Delta):
        yield node
        node = node.input
    yield node


def bound_by(node: Node) -> frozenset[str]:
    """The columns bound by a node and the nodes below it."""
    return frozenset[str]().union(*map(_binds, chain(node)))


def _binds(node: Node) -> tuple[str, ...]:
    match node:
        case Delta(pattern) | Join(_, pattern):
            return pattern.columns
        case Extend(_, computation):
            return (computation.column,)
        case Antijoin() | Filter():
            return ()
        case _:
            assert_never(node)


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """Derivations from a body atom's delta: a match at iterations i1..in with signs s1..sn adds
    s1·…·sn to the multiplicity of the head at iteration max(i1..in) + 1.
    """  # noqa: D205

    input: Node
    head: Pattern

    def __post_init__(self) -> None:
        if None in self.head.arguments:
            raise PlanError(f"Head {self.head} leaves a position open.")
        _require_bound(frozenset(self.head.columns), self.input, "Head")

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in evaluation order, starting with the delta."""
        return tuple(chain(self.input))[::-1]

    @property
    def delta(self) -> Delta:
        """The delta that drives this plan."""
        first = self.nodes[0]
        assert isinstance(first, Delta)  # noqa: S101 - `nodes` ends there
        return first

    @property
    def joins(self) -> tuple[Join, ...]:
        """The joins in evaluation order."""
        return tuple(node for node in self.nodes if isinstance(node, Join))


# Programs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RulePlan:
    """A rule and its delta plans: one for each positive atom, then one for each negated atom."""

    body: RuleBody
    plans: tuple[DeltaPlan, ...]


@dataclass(frozen=True, slots=True)
class Lattice:
    """Of the facts that agree on all positions but one, only the best is present.

    Attributes:
        pattern: The facts of the lattice, selected by the pattern's constants.
        position: Position of the compared value.
        function: `min` or `max`, by the total order of terms.
    """

    pattern: Pattern
    position: int
    function: str

    @property
    def key(self) -> tuple[int, ...]:
        """Positions on which the facts of a group agree."""
        positions = range(len(self.pattern.arguments))
        return tuple(position for position in positions if position != self.position)


@dataclass(frozen=True, slots=True)
class Reduction:
    """An aggregate over the facts of a lower stratum, each counted as often as its multiplicity.

    Attributes:
        candidates: Predicate of those facts: the group's columns, then the value, if any.
        function: `count` (without value), `count distinct`, `sum` or `avg`.
        head: Pattern of the facts derived at iteration 1, with columns `#0`, `#1`, ... of the
            group, and `#result`.
    """

    candidates: str
    function: str
    head: Pattern

    @property
    def key(self) -> tuple[int, ...]:
        """Positions on which the candidates of a group agree: all but the value."""
        return tuple(range(len(self.head.columns) - 1))


@dataclass(frozen=True, slots=True)
class StratumPlan:
    """The plans of mutually dependent rules, and the patterns of the facts they derive."""

    rules: tuple[RulePlan, ...]
    reductions: tuple[Reduction, ...] = ()

    @property
    def plans(self) -> tuple[DeltaPlan, ...]:
        """The delta plans of all rules."""
        return tuple(plan for rule in self.rules for plan in rule.plans)

    @property
    def heads(self) -> tuple[Pattern, ...]:
        """Patterns of the derived facts; matching facts belong to the stratum."""
        return (
            *(rule.body.head for rule in self.rules),
            *(reduction.head for reduction in self.reductions),
        )


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """A program ready for a backend.

    Attributes:
        arities: Arity of every predicate, hidden ones included.
        strata: In dependency order; a stratum reads itself and those before it.
        lattices: Aggregates among the facts of their own head.
        hidden: Predicates that lowering added; their facts have a trace but are not output.
        places: Source and line of each rule in normal form, for messages.
    """

    arities: dict[str, int]
    strata: tuple[StratumPlan, ...]
    lattices: tuple[Lattice, ...] = ()
    hidden: frozenset[str] = frozenset()
    places: tuple[str, ...] = field(default=(), compare=False)

    @property
    def constants(self) -> tuple[str, ...]:
        """The distinct constants of all rules."""
        patterns = [lattice.pattern for lattice in self.lattices]
        for stratum in self.strata:
            patterns += stratum.heads
            for rule in stratum.rules:
                patterns += (*rule.body.patterns, *rule.body.negated)
        return tuple(dict.fromkeys(term for pattern in patterns for _, term in pattern.constants))


def _names(operands: tuple[Operand, ...]) -> frozenset[str]:
    return frozenset(operand.name for operand in operands if isinstance(operand, Column))


def _require_bound(needs: frozenset[str], node: Node, reader: str) -> None:
    missing = set(needs)
    for below in chain(node):
        if not missing:
            return
        missing.difference_update(_binds(below))
    if missing:
        raise PlanError(f"{reader} reads {sorted(missing)}; its input has {sorted(node.columns)}.")
