"""What a plan computes with: columns, constants, patterns and conditions. Invariant: all are flat.

States of earlier releases are recognised by the text of these values, so classes and fields keep
their names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from streamreasoner.values.comparison import Operator
    from streamreasoner.values.formula import Function

COPY = "copy"
"""The identity built-in, for `?x = ?y` where nothing else binds ?x."""

NEGATE = "negate"
"""Unary minus."""

TRIPLE_TERM = "triple"
"""The built-in that makes a triple term of its parts."""

RESULT = "#result"
"""Column of the aggregated value in the head of a reduction."""


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

    def fits(self, predicate: str, constants: Iterable[tuple[int, str]]) -> bool:
        """Whether facts of a predicate that have these constants, by position, may match."""
        expected = dict(self.constants)
        return predicate == self.predicate and all(
            expected.get(position, term) == term for position, term in constants
        )

    def bound_positions(self, columns: AbstractSet[str]) -> tuple[int, ...]:
        """The positions whose column is in *columns*."""
        return tuple(
            position
            for position, argument in enumerate(self.arguments)
            if isinstance(argument, Column) and argument.name in columns
        )


@dataclass(frozen=True, slots=True)
class Same:
    """A column equals another column, or a constant, as a term."""

    column: str
    other: Operand

    @property
    def needs(self) -> frozenset[str]:
        """The columns it reads."""
        return _names((Column(self.column), self.other))


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
    function: Function
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


Condition: TypeAlias = Same | Comparison | Test
"""Keeps the rows for which it holds."""


def _names(operands: tuple[Operand, ...]) -> frozenset[str]:
    return frozenset(operand.name for operand in operands if isinstance(operand, Column))
