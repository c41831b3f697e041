"""Relational algebra of rules and of their deltas. Invariant: no node reads what its input lacks.

A rule is a tree whose leaves scan facts. A delta plan is a tree too: one leaf is the delta of an
atom, and the others scan the facts before or after it.

The column of a variable has its name; `$1.0` is argument 0 of atom 1 until it is named; `#0` is the
value of an expression. Rows are bags: the multiplicity of a row is its number of matches.
`Incomplete` holds the part of a rule that is not algebra yet. Every step of lowering shrinks it,
and the last one removes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from operator import is_
from typing import TYPE_CHECKING, TypeAlias, TypeVar, assert_never, cast

from streamreasoner.errors import StreamReasonerError
from streamreasoner.plan import operands

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from streamreasoner.lang import ast

T = TypeVar("T")


class PlanError(StreamReasonerError):
    """A plan node would read a column that its input lacks, or stands where it has no meaning."""


# Nodes -------------------------------------------------------------------------------------------


class Age(Enum):
    """The facts that a scan reads: in a delta plan, those before or after the settled delta."""

    ALL = "all"
    OLD = "old"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Scan:
    """The present facts that match a pattern; in a delta plan, their transitions."""

    pattern: operands.Pattern
    age: Age = Age.ALL


@dataclass(frozen=True, slots=True)
class Delta:
    """The transitions of matching facts that changed in this settle step.

    For a negated atom they have the opposite sign.
    """

    pattern: operands.Pattern
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Product:
    """Every combination of rows; the inputs have no common column."""

    inputs: tuple[PlanTree, ...]


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

    @staticmethod
    def of(pattern: operands.Pattern, bound: AbstractSet[str]) -> Arrangement | None:
        """Where facts that match are looked up by bound columns; None if this is a single fact."""
        key = pattern.bound_positions(bound)
        if len(key) + len(pattern.constants) == len(pattern.arguments):
            return None
        return Arrangement(pattern.predicate, pattern.constants, key)


@dataclass(frozen=True, slots=True)
class Join:
    """Combinations of rows that agree on their common columns.

    In a delta plan the right input is a scan, which need not have a common column.
    """

    left: PlanTree
    right: PlanTree

    @property
    def on(self) -> set[str]:
        """The join columns."""
        return columns_of(self.left) & columns_of(self.right)

    @property
    def scan(self) -> Scan:
        """The atom that a delta plan joins."""
        if not isinstance(self.right, Scan):
            raise PlanError(f"A delta plan joins atoms, not a {type(self.right).__name__}.")
        return self.right


@dataclass(frozen=True, slots=True)
class Select:
    """The rows of the input for which a condition holds."""

    input: PlanTree
    condition: operands.Condition

    @property
    def test(self) -> operands.Comparison | operands.Test:
        """The condition on values. Columns that are the same term have one name by then."""
        if isinstance(self.condition, operands.Same):
            raise PlanError(f"{self.condition} is not lowered to a join.")
        return self.condition


@dataclass(frozen=True, slots=True)
class Antijoin:
    """The rows of the input that agree with no negated row."""

    input: PlanTree
    negated: Scan | Project

    @property
    def scan(self) -> Scan:
        """The facts that must be absent: those that a projection derives, if there is one."""
        return self.negated if isinstance(self.negated, Scan) else Scan(self.negated.head)


@dataclass(frozen=True, slots=True)
class Extend:
    """The rows for which a value exists, with it as a column; an existing column must equal it."""

    input: PlanTree
    computation: operands.Computation

    @property
    def checks(self) -> bool:
        """Whether the input has the column already, so that the value is compared with it."""
        return self.computation.column in columns_of(self.input)


@dataclass(frozen=True, slots=True)
class Project:
    """The facts formed by the rows of the input; the tree below is checked as a whole."""

    input: PlanTree
    head: operands.Pattern

    def __post_init__(self) -> None:
        if None in self.head.arguments:
            raise PlanError(f"Project to {self.head} leaves a position open.")
        columns_of(self)

    @property
    def patterns(self) -> tuple[operands.Pattern, ...]:
        """Positive atoms, in textual order."""
        return tuple(node.pattern for node in positive(self.input) if isinstance(node, Scan))

    @property
    def negated(self) -> tuple[operands.Pattern, ...]:
        """Negated atoms, in textual order."""
        nodes = positive(self.input)
        return tuple(node.scan.pattern for node in nodes if isinstance(node, Antijoin))

    @property
    def conditions(self) -> tuple[operands.Comparison | operands.Test | operands.Computation, ...]:
        """Tests and computations, each after the computations that it reads."""
        return tuple(
            node.test if isinstance(node, Select) else node.computation
            for node in positive(self.input)
            if isinstance(node, Select | Extend)
        )

    @property
    def body(self) -> tuple[object, ...]:
        """All that determines the rows; unlike the tree, it does not nest, and can be hashed."""
        return self.patterns, self.negated, self.conditions

    @property
    def parts(self) -> tuple[object, ...]:
        """All that determines the facts, like `body`."""
        return self.head, *self.body


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

    input: PlanTree
    equations: tuple[Equation, ...]
    literals: tuple[ast.Literal, ...]
    head: ast.Atom | None


Leaf: TypeAlias = Scan | Delta | Product | Join
"""The end of a chain of links."""

Link: TypeAlias = Select | Antijoin | Extend | Project | Incomplete
"""A node with a single input that has its rows."""

PlanTree: TypeAlias = Leaf | Link

Step: TypeAlias = Join | Antijoin | Select | Extend
"""What a delta plan does with the rows of its delta."""


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


def inputs(node: PlanTree) -> tuple[PlanTree, ...]:
    """The nodes directly below."""
    match node:
        case Scan() | Delta():
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


def with_inputs(  # noqa: PLR0911 - one case each
    node: PlanTree, below: Sequence[PlanTree]
) -> PlanTree:
    """The node over other inputs; itself if they are its own, as most are in a rewrite."""
    if all(map(is_, inputs(node), below)):
        return node
    match node:
        case Scan() | Delta():
            return node
        case Product():
            return Product(tuple(below))
        case Join():
            return Join(*below)
        case Antijoin():
            return Antijoin(below[0], cast("Scan | Project", below[1]))
        case Select(_, condition):
            return Select(below[0], condition)
        case Extend(_, computation):
            return Extend(below[0], computation)
        case Project(_, head):
            return Project(below[0], head)
        case Incomplete():
            return replace(node, input=below[0])
        case _:
            assert_never(node)


def walk(tree: PlanTree) -> list[PlanTree]:
    """Every node in textual order, inputs first.

    A rule may have many conditions, so trees are walked in a loop, not recursively.
    """
    return _walked(tree, inputs)


def positive(tree: PlanTree) -> list[PlanTree]:
    """Like `walk`, but without what is negated."""
    return _walked(tree, lambda node: inputs(node)[: 1 if isinstance(node, Antijoin) else None])


def _walked(tree: PlanTree, below: Callable[[PlanTree], tuple[PlanTree, ...]]) -> list[PlanTree]:
    found: list[PlanTree] = []
    waiting = [tree]
    while waiting:
        found.append(waiting.pop())
        waiting += below(found[-1])
    return found[::-1]


def spine(node: PlanTree) -> tuple[Leaf, list[Link]]:
    """The first node below without exactly one input, and the links above it, lowest first."""
    links: list[Link] = []
    while not isinstance(node, Scan | Delta | Product | Join):
        links.append(node)
        node = node.input
    return node, links[::-1]


def delta_chain(tree: Project) -> tuple[Delta, list[Step]]:
    """The delta at the end of a left-deep tree, and the steps above it, lowest first."""
    steps: list[Step] = []
    node = tree.input
    while not isinstance(node, Delta):
        match node:
            case Join(below, Scan()) | Antijoin(below, Scan()):
                pass
            case Select(below, operands.Comparison() | operands.Test()) | Extend(below):
                pass
            case _:
                raise PlanError(f"{type(node).__name__} cannot be part of a delta plan.")
        steps.append(node)
        node = below
    return node, steps[::-1]


def folded(tree: PlanTree, combine: Callable[[PlanTree, list[T]], T]) -> T:
    """Combine every node with the results of its inputs, from the leaves up."""
    nodes: list[tuple[PlanTree, int]] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        below = inputs(node)
        nodes.append((node, len(below)))
        waiting += below
    results: list[T] = []
    for node, count in reversed(nodes):
        start = len(results) - count
        results[start:] = [combine(node, results[start:])]
    return results[0]


def mapped(tree: PlanTree, change: Callable[[PlanTree], PlanTree]) -> PlanTree:
    """Apply `change` to every node, from the leaves up."""
    return folded(tree, lambda node, below: change(with_inputs(node, below)))


def columns_of(tree: PlanTree) -> set[str]:
    """The columns of the rows of a tree.

    They are derived, not stored: all nodes of all plans of a large rule would hold a gigabyte.

    Raises:
        PlanError: A node reads a column that its input lacks.
    """
    return folded(tree, _columns)


def product(trees: tuple[PlanTree, ...]) -> PlanTree:
    """The product of at least one tree."""
    return Product(trees) if len(trees) > 1 else trees[0]


def joined(left: PlanTree, right: PlanTree) -> PlanTree:
    """The join of two trees, or their product if they have no common column."""
    join = Join(left, right)
    return join if join.on else Product((left, right))


def _columns(node: PlanTree, below: list[set[str]]) -> set[str]:  # noqa: PLR0911 - one case each
    """The columns of a node above inputs with columns, whose sets it may change."""
    match node:
        case Scan(pattern) | Delta(pattern):
            return set(pattern.columns)
        case Product():
            return _distinct(below)
        case Join():
            return below[0].union(below[1])
        case Select(_, condition):
            return _with(condition.needs, below[0], node)
        case Antijoin():
            return _with(below[1], below[0], node)
        case Extend(_, computation):
            columns = _with(computation.needs, below[0], node)
            columns.add(computation.column)
            return columns
        case Project(_, head):
            _with(frozenset(head.columns), below[0], node)
            return set(head.columns)
        case Incomplete(_, equations):
            return below[0].union(equation.column for equation in equations)
        case _:
            assert_never(node)


def _with(needs: AbstractSet[str], columns: set[str], node: PlanTree) -> set[str]:
    """The columns of an input, which must have those that a node needs."""
    if missing := needs - columns:
        reader = type(node).__name__
        raise PlanError(f"{reader} reads {sorted(missing)}; its input has {sorted(columns)}.")
    return columns


def _distinct(below: list[set[str]]) -> set[str]:
    """All columns of inputs, none of which may be in two of them."""
    columns = set[str]().union(*below)
    if len(columns) < sum(map(len, below)):
        raise PlanError("The inputs of a Product have a common column.")
    return columns
