"""Relational algebra of whole rules. Invariant: no node reads a column that its input lacks.

The column of a variable has its name; `$1.0` is argument 0 of atom 1 until it is named; `#0` is the
value of an expression. Relations are bags: the multiplicity of a row is its number of matches.
`Incomplete` holds the part of a rule that is not algebra yet. Every step of lowering shrinks it,
and the last one removes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, assert_never, cast

from streamreasoner.plan.algebra import (
    Column,
    Comparison,
    Computation,
    Operand,
    Pattern,
    PlanError,
    Test,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from streamreasoner.lang import ast


@dataclass(frozen=True, slots=True)
class Same:
    """A column equals another column, or a constant, as a term."""

    column: str
    other: Operand

    @property
    def needs(self) -> frozenset[str]:
        """The columns it reads."""
        others = {self.other.name} if isinstance(self.other, Column) else set[str]()
        return frozenset({self.column, *others})


Condition: TypeAlias = Same | Comparison | Test


@dataclass(frozen=True, slots=True)
class Scan:
    """The present facts that match a pattern."""

    pattern: Pattern
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _store(self, frozenset(self.pattern.columns))


@dataclass(frozen=True, slots=True)
class Product:
    """Every combination of rows; the inputs have no common column."""

    inputs: tuple[Relation, ...]
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _store(self, frozenset[str]().union(*(each.columns for each in self.inputs)))
        if len(self.columns) < sum(len(each.columns) for each in self.inputs):
            raise PlanError("The inputs of a Product have a common column.")


@dataclass(frozen=True, slots=True)
class Join:
    """Combinations of rows that agree on their common columns."""

    left: Relation
    right: Relation
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.on:
            raise PlanError("The inputs of a Join have no common column.")
        _store(self, self.left.columns | self.right.columns)

    @property
    def on(self) -> frozenset[str]:
        """The join columns."""
        return self.left.columns & self.right.columns


@dataclass(frozen=True, slots=True)
class Select:
    """The rows of the input for which a condition holds."""

    input: Relation
    condition: Condition
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _require(self.condition.needs, self.input, "Select")
        _store(self, self.input.columns)


@dataclass(frozen=True, slots=True)
class Antijoin:
    """The rows of the input that agree with no negated row."""

    input: Relation
    negated: Scan | Project
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _require(self.negated.columns, self.input, "Antijoin")
        _store(self, self.input.columns)


@dataclass(frozen=True, slots=True)
class Extend:
    """The rows for which a value exists, with it as a column; an existing column must equal it."""

    input: Relation
    computation: Computation
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _require(self.computation.needs, self.input, "Extend")
        _store(self, self.input.columns | {self.computation.column})


@dataclass(frozen=True, slots=True)
class Project:
    """The facts formed by the rows of the input."""

    input: Relation
    head: Pattern
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if None in self.head.arguments:
            raise PlanError(f"Project to {self.head} leaves a position open.")
        _require(frozenset(self.head.columns), self.input, "Project")
        _store(self, frozenset(self.head.columns))


@dataclass(frozen=True, slots=True)
class Equation:
    """A column equals an expression, as a term; a column that the input lacks is defined by it."""

    column: str
    expression: ast.Expression


@dataclass(frozen=True, slots=True)
class Incomplete:
    """The part of a rule that is not algebra yet.

    Attributes:
        input: The part that is algebra already.
        equations: Equations from arguments and assignments.
        literals: Comparisons, tests and negations.
        head: The derived facts, with the operands of aggregates; None once there is a Project.
    """

    input: Relation
    equations: tuple[Equation, ...]
    literals: tuple[ast.Literal, ...]
    head: ast.Atom | None
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _store(self, self.input.columns | {equation.column for equation in self.equations})


Leaf: TypeAlias = Scan | Product | Join
"""The end of a chain of links."""

Link: TypeAlias = Select | Antijoin | Extend | Project | Incomplete
"""A node with a single input."""

Relation: TypeAlias = Leaf | Link


@dataclass(frozen=True, slots=True)
class Union:
    """The facts of all inputs, which have the same predicate."""

    inputs: tuple[Project, ...]


@dataclass(frozen=True, slots=True)
class Reduce:
    """One fact per group of facts that agree on all positions but those of the functions.

    Attributes:
        input: Facts with the operands of aggregates.
        functions: (position, function), where `count distinct` is a function.
    """

    input: Union
    functions: tuple[tuple[int, str], ...]


# Trees -------------------------------------------------------------------------------------------


def inputs(node: Relation) -> tuple[Relation, ...]:
    """The nodes directly below."""
    match node:
        case Scan():
            return ()
        case Product():
            return node.inputs
        case Join(left, right):
            return (left, right)
        case Antijoin(below, negated):
            return (below, negated)
        case Select() | Extend() | Project() | Incomplete():
            return (node.input,)
        case _:
            assert_never(node)


def spine(node: Relation) -> tuple[Leaf, list[Link]]:
    """The first node below without exactly one input, and the links above it, lowest first.

    A rule may have many conditions, so links are walked in a loop, not recursively.
    """
    links: list[Link] = []
    while not isinstance(node, Scan | Product | Join):
        links.append(node)
        node = node.input
    return node, links[::-1]


def walk(node: Relation) -> Iterator[Relation]:
    """Yield every node in textual order, inputs first."""
    leaf, links = spine(node)
    match leaf:
        case Scan():
            pass
        case Product(inputs):
            for each in inputs:
                yield from walk(each)
        case Join(left, right):
            yield from walk(left)
            yield from walk(right)
        case _:
            assert_never(leaf)
    yield leaf
    for link in links:
        if isinstance(link, Antijoin):
            yield from walk(link.negated)
        yield link


def mapped(node: Relation, change: Callable[[Relation], Relation]) -> Relation:
    """Apply `change` to every node, from the leaves up."""
    leaf, links = spine(node)
    match leaf:
        case Scan():
            result = change(leaf)
        case Product(inputs):
            result = change(Product(tuple(mapped(below, change) for below in inputs)))
        case Join(left, right):
            result = change(Join(mapped(left, change), mapped(right, change)))
        case _:
            assert_never(leaf)
    for link in links:
        if isinstance(link, Antijoin):
            negated = cast("Scan | Project", mapped(link.negated, change))
            result = change(Antijoin(result, negated))
        else:
            result = change(replace(link, input=result))
    return result


def product(relations: tuple[Relation, ...]) -> Relation:
    """The product of at least one relation."""
    return Product(relations) if len(relations) > 1 else relations[0]


def joined(left: Relation, right: Relation) -> Relation:
    """The join of two relations, or their product if they have no common column."""
    return Join(left, right) if left.columns & right.columns else Product((left, right))


def substituted(node: Relation, values: Mapping[str, Operand]) -> Relation:
    """Replace columns by other columns or constants, except in equations.

    The computation of a column that becomes a constant is dropped: the constant is its value.
    """
    return _Substitution(values).node(node)


@dataclass(frozen=True, slots=True)
class _Substitution:
    values: Mapping[str, Operand]

    def node(self, node: Relation) -> Relation:
        leaf, links = spine(node)
        match leaf:
            case Scan(pattern):
                result: Relation = Scan(self._pattern(pattern))
            case Product(inputs):
                result = Product(tuple(map(self.node, inputs)))
            case Join(left, right):
                result = joined(self.node(left), self.node(right))
            case _:
                assert_never(leaf)
        for link in links:
            result = self._link(link, result)
        return result

    def _link(self, link: Link, below: Relation) -> Relation:
        match link:
            case Select(_, condition):
                return Select(below, self._condition(condition))
            case Antijoin(_, negated):
                return Antijoin(below, cast("Scan | Project", self.node(negated)))
            case Extend(_, Computation(column)) if isinstance(self.values.get(column), Value):
                return below
            case Extend(_, Computation(column, function, arguments)):
                operands = tuple(map(self._operand, arguments))
                return Extend(below, Computation(self._name(column), function, operands))
            case Project(_, head):
                return Project(below, self._pattern(head))
            case Incomplete():
                return replace(link, input=below)
            case _:
                assert_never(link)

    def _operand(self, operand: Operand) -> Operand:
        return self.values.get(operand.name, operand) if isinstance(operand, Column) else operand

    def _name(self, column: str) -> str:
        operand = self._operand(Column(column))
        if isinstance(operand, Value):
            raise PlanError(f"{column} cannot be replaced by a constant here.")
        return operand.name

    def _pattern(self, pattern: Pattern) -> Pattern:
        arguments = tuple(
            None if argument is None else self._operand(argument) for argument in pattern.arguments
        )
        return Pattern(pattern.predicate, arguments)

    def _condition(self, condition: Condition) -> Condition:
        match condition:
            case Same(column, other):
                return Same(self._name(column), self._operand(other))
            case Comparison(left, operator, right):
                return Comparison(self._operand(left), operator, self._operand(right))
            case Test(function, arguments, negated):
                return Test(function, tuple(map(self._operand, arguments)), negated)
            case _:
                assert_never(condition)


def _store(node: Relation, columns: frozenset[str]) -> None:
    """Cache the columns of a node, as deriving them each time would traverse deep trees."""
    object.__setattr__(node, "columns", columns)


def _require(needs: frozenset[str], node: Relation, what: str) -> None:
    missing = needs - node.columns
    if missing:
        raise PlanError(f"{what} reads {sorted(missing)}; its input has {sorted(node.columns)}.")
