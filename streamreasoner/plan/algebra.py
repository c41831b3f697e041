"""Plan nodes of rules over deltas. Invariant: a node that reads an unbound column cannot exist.

A rule body is a join of patterns. A *delta plan* is the part of it that one body atom's delta
drives: a chain of joins with the other atoms, filters as soon as their columns are bound, and the
head on top. Columns carry the names of the rule's variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from streamreasoner.errors import StreamReasonerError


class PlanError(StreamReasonerError):
    """A plan node would read a column that its input does not have."""


class Age(Enum):
    """Which transitions of an atom a join reads: before or after the settled delta."""

    OLD = "old"
    NEW = "new"


class Operator(Enum):
    """Comparison of two values."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


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
    """What an atom asks of a fact, by position: a constant, a column (repeated: equal), or nothing.

    Attributes:
        predicate: Name of the predicate.
        arguments: One entry per position; None matches anything and binds nothing.
    """

    predicate: str
    arguments: tuple[Operand | None, ...]

    @property
    def constants(self) -> tuple[tuple[int, str], ...]:
        """(position, term) of every constant, by position."""
        return tuple(
            (position, argument.term)
            for position, argument in enumerate(self.arguments)
            if isinstance(argument, Value)
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order of first appearance."""
        names = (argument.name for argument in self.arguments if isinstance(argument, Column))
        return tuple(dict.fromkeys(names))

    def bound_positions(self, columns: frozenset[str]) -> tuple[int, ...]:
        """Positions whose column is among *columns*."""
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
        constants: (position, term) that a fact must have to be a member.
        key: Positions that the join looks up.
    """

    predicate: str
    constants: tuple[tuple[int, str], ...]
    key: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The transitions that changed in this settle, of facts that match the pattern."""

    pattern: Pattern

    @property
    def columns(self) -> frozenset[str]:
        """Columns that are bound above this node."""
        return frozenset(self.pattern.columns)


@dataclass(frozen=True, slots=True)
class Join:
    """The input joined with the transitions of a pattern, at every iteration."""

    input: Node
    pattern: Pattern
    age: Age

    @property
    def columns(self) -> frozenset[str]:
        """Columns that are bound above this node."""
        return self.input.columns | frozenset(self.pattern.columns)

    @property
    def key(self) -> tuple[int, ...]:
        """Positions of the pattern that the input binds."""
        return self.pattern.bound_positions(self.input.columns)

    @property
    def arrangement(self) -> Arrangement:
        """The index that this join looks its matches up in."""
        return Arrangement(self.pattern.predicate, self.pattern.constants, self.key)


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows of the input for which a comparison of values holds."""

    input: Node
    left: Operand
    operator: Operator
    right: Operand

    def __post_init__(self) -> None:
        _require_bound((self.left, self.right), self.input.columns, "Filter")

    @property
    def columns(self) -> frozenset[str]:
        """Columns that are bound above this node."""
        return self.input.columns


Node: TypeAlias = Delta | Join | Filter


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """What the delta of one body atom derives: a combination at iterations i1..in with signs s1..sn
    adds s1·…·sn to the multiplicity of the head at iteration max(i1..in) + 1.
    """  # noqa: D205

    input: Node
    head: Pattern

    def __post_init__(self) -> None:
        if None in self.head.arguments:
            raise PlanError(f"Head {self.head} leaves a position open.")
        operands = tuple(argument for argument in self.head.arguments if argument is not None)
        _require_bound(operands, self.input.columns, "Head")

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in the order in which they run: the delta first."""
        found: list[Node] = [self.input]
        while not isinstance(found[-1], Delta):
            found.append(found[-1].input)
        return tuple(reversed(found))

    @property
    def delta(self) -> Pattern:
        """The pattern whose delta drives this plan."""
        first = self.nodes[0]
        assert isinstance(first, Delta)  # noqa: S101 - `nodes` ends there
        return first.pattern

    @property
    def joins(self) -> tuple[Join, ...]:
        """The joins, in the order in which they run."""
        return tuple(node for node in self.nodes if isinstance(node, Join))


@dataclass(frozen=True, slots=True)
class StratumPlan:
    """The delta plans of mutually dependent rules, and the patterns of their heads."""

    heads: tuple[Pattern, ...]
    plans: tuple[DeltaPlan, ...]


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """A program ready for a backend.

    Attributes:
        arities: Arity of every predicate that facts may have.
        strata: In dependency order; a stratum reads itself and those before it.
    """

    arities: dict[str, int]
    strata: tuple[StratumPlan, ...]


def _require_bound(operands: tuple[Operand, ...], columns: frozenset[str], node: str) -> None:
    missing = {o.name for o in operands if isinstance(o, Column)} - columns
    if missing:
        raise PlanError(f"{node} reads {sorted(missing)}; its input has {sorted(columns)}.")
