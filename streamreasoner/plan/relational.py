"""Relational algebra of whole rules. Invariant: a node that reads a column its input lacks cannot
exist.

Columns have names. Those of a variable have its name; `$1.0` is argument 0 of atom 1 as long as
nothing has named it; `#0` holds the value of an expression. Relations are bags: a row counts as
often as there are matches that give it. `Incomplete` is what lowering starts from: the part of a
rule that is not algebra yet. Every step makes it smaller, and the last one takes it away.
"""  # noqa: D205

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
    """A column holds the same term as another column, or as a constant."""

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
    """The present facts of a predicate that a pattern matches."""

    pattern: Pattern
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _store(self, frozenset(self.pattern.columns))


@dataclass(frozen=True, slots=True)
class Product:
    """Every combination of rows; the inputs have no column in common."""

    inputs: tuple[Relation, ...]
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _store(self, frozenset[str]().union(*(each.columns for each in self.inputs)))
        if len(self.columns) < sum(len(each.columns) for each in self.inputs):
            raise PlanError("The inputs of a Product have a column in common.")


@dataclass(frozen=True, slots=True)
class Join:
    """Combinations of rows that agree on the columns that both inputs have."""

    left: Relation
    right: Relation
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.on:
            raise PlanError("The inputs of a Join have no column in common.")
        _store(self, self.left.columns | self.right.columns)

    @property
    def on(self) -> frozenset[str]:
        """The columns that decide."""
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
    """The rows of the input that agree with no row of what is negated."""

    input: Relation
    negated: Scan | Project
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _require(self.negated.columns, self.input, "Antijoin")
        _store(self, self.input.columns)


@dataclass(frozen=True, slots=True)
class Extend:
    """The rows that have the value, with one more column; a column that is there must equal it."""

    input: Relation
    computation: Computation
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _require(self.computation.needs, self.input, "Extend")
        _store(self, self.input.columns | {self.computation.column})


@dataclass(frozen=True, slots=True)
class Project:
    """The facts that the rows of the input make."""

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
    """A column is the value of an expression, as a term; one the input lacks gets its value so."""

    column: str
    expression: ast.Expression


@dataclass(frozen=True, slots=True)
class Incomplete:
    """What a rule says of its input that is not algebra yet.

    Attributes:
        input: What is algebra already.
        equations: What arguments and assignments say.
        literals: Comparisons, tests and negations that hold.
        head: The facts it makes, with the operands of aggregates; None once a Project makes them.
    """

    input: Relation
    equations: tuple[Equation, ...]
    literals: tuple[ast.Literal, ...]
    head: ast.Atom | None
    columns: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _store(self, self.input.columns | {equation.column for equation in self.equations})


Leaf: TypeAlias = Scan | Product | Join
"""Where a chain of links ends."""

Link: TypeAlias = Select | Antijoin | Extend | Project | Incomplete
"""A node that changes the rows of its one input."""

Relation: TypeAlias = Leaf | Link


@dataclass(frozen=True, slots=True)
class Union:
    """The facts of all inputs, which are of one predicate."""

    inputs: tuple[Project, ...]


@dataclass(frozen=True, slots=True)
class Reduce:
    """One fact for each group of facts that agree on all positions but those of the functions.

    Attributes:
        input: Facts with the operands of aggregates.
        functions: (position, function); `count distinct` is one.
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
    """The first node below that has no input or several, and the links above it, lowest first.

    A rule has as many links as conditions, so they are walked in a loop, not by recursion.
    """
    links: list[Link] = []
    while not isinstance(node, Scan | Product | Join):
        links.append(node)
        node = node.input
    return node, links[::-1]


def walk(node: Relation) -> Iterator[Relation]:
    """Every node, inputs before what reads them, in the order of the text."""
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
    """The tree with every node changed, from the leaves up."""
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
    """The product of one relation or more."""
    return Product(relations) if len(relations) > 1 else relations[0]


def joined(left: Relation, right: Relation) -> Relation:
    """The join of two relations; their product, if they have no column in common."""
    return Join(left, right) if left.columns & right.columns else Product((left, right))


def substituted(node: Relation, values: Mapping[str, Operand]) -> Relation:
    """The tree with other columns, or constants, in the place of columns; equations keep theirs.

    A computation of a column that becomes a constant goes: the constant is its value.
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
            raise PlanError(f"{column} is where only a column can be.")
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
    """Store what would be derived at each look: trees are as deep as expressions are long."""
    object.__setattr__(node, "columns", columns)


def _require(needs: frozenset[str], node: Relation, what: str) -> None:
    missing = needs - node.columns
    if missing:
        raise PlanError(f"{what} reads {sorted(missing)}; its input has {sorted(node.columns)}.")
