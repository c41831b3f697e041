"""The algebra of SPARQL 1.2 as values. Invariant: terms are canonical N-Triples.

The operators are those of https://www.w3.org/TR/sparql12-query/#sparqlAlgebra. A blank node of a
pattern is a variable of `Query.blank_nodes`, which no other part of the query can name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from streamreasoner.lang.ast import Constant, Span, Variable

if TYPE_CHECKING:
    from collections.abc import Iterator

Term: TypeAlias = Constant | Variable


@dataclass(frozen=True, slots=True)
class TripleTerm:
    """`<<( subject predicate object )>>` that is not a constant.

    It has a variable, or a part that no triple of RDF has, so that it matches nothing.
    """

    subject: Node
    predicate: Term
    object: Node
    span: Span = field(compare=False, repr=False)

    @property
    def parts(self) -> tuple[Node, Term, Node]:
        """Subject, predicate and object."""
        return self.subject, self.predicate, self.object


Node: TypeAlias = Term | TripleTerm


@dataclass(frozen=True, slots=True)
class Inverse:
    """`^path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Sequence:
    """`path / path`."""

    steps: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """`path | path`."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`path?`, `path*` and `path+`: from `least` (0 or 1) steps to one, or to any number."""

    path: Path
    least: int
    many: bool


@dataclass(frozen=True, slots=True)
class Negated:
    """`!(predicate | predicate)`: a triple with another predicate."""

    predicates: tuple[Constant, ...]


Path: TypeAlias = Constant | Inverse | Sequence | Alternative | Repeat | Negated


def repeated(path: Repeat) -> Repeat:
    """A repetition that says that it may be empty if what it repeats may: `(path?)+` is `path*`.

    Else the end that is given would be missing where it is in no triple (section 18.4, ALP).
    """
    return Repeat(path.path, min(path.least, _shortest(path.path)), path.many)


def _shortest(path: Path) -> int:
    """0 if a path leads from any term to itself, also from one that is in no triple.

    A sequence does not: the node in its middle is one of the graph (section 18.2.2.4).
    """
    match path:
        case Inverse(inner):
            return _shortest(inner)
        case Alternative(paths):
            return min(map(_shortest, paths))
        case Repeat(inner, least, _):
            return min(least, _shortest(inner))
        case _:
            return 1


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator or function of an expression.

    Attributes:
        function: `&& || !`, `= != < <= > >=`, `+ - * /`, `negate`, `in`, the name of a built-in in
            upper case, or the canonical IRI of a function.
        arguments: Its operands; of `in` the value, then the list.
        span: Where it stands.
    """

    function: str
    arguments: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exists:
    """`EXISTS { … }`; `NOT EXISTS` is the negation `!` of it."""

    pattern: Pattern
    span: Span = field(compare=False, repr=False)


Expression: TypeAlias = Term | Apply | Exists


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """A triple pattern; its predicate is a term or a property path."""

    subject: Node
    predicate: Path | Variable
    object: Node


@dataclass(frozen=True, slots=True)
class BasicGraphPattern:
    """Triple patterns that all match; without any, one empty solution."""

    triples: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Compatible solutions of both."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """`OPTIONAL`: the join where the condition holds, and what is left without it."""

    left: Pattern
    right: Pattern
    condition: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Union:
    """The solutions of both."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Minus:
    """Solutions of the left that agree with none of the right on a variable of both."""

    left: Pattern
    right: Pattern
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """Solutions for which the condition is true; an error is not."""

    condition: Expression
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Extend:
    """`BIND (expression AS ?variable)`, unbound where the expression has an error."""

    pattern: Pattern
    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Graph:
    """`GRAPH name { … }`."""

    name: Term
    pattern: Pattern
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Values:
    """`VALUES`; None is UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[Constant | None, ...], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Service:
    """`SERVICE name { … }`."""

    name: Term
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """An aggregate of a group; `expression` is None in `COUNT(*)`.

    Attributes:
        function: `COUNT`, `SUM`, `MIN`, `MAX`, `AVG`, `SAMPLE` or `GROUP_CONCAT`.
        expression: What is aggregated.
        distinct: Whether equal values count once.
        separator: Of GROUP_CONCAT.
        span: Where it stands.
    """

    function: str
    expression: Expression | None
    distinct: bool
    separator: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Group:
    """One solution for each combination of the keys; without keys exactly one.

    Attributes:
        pattern: What is grouped.
        keys: The variables of GROUP BY.
        results: The variable of each aggregate.
        span: Where the grouping stands.
    """

    pattern: Pattern
    keys: tuple[Variable, ...]
    results: tuple[tuple[Variable, Aggregation], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Order:
    """A condition of ORDER BY."""

    expression: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT, of the query or of a part of it.

    Attributes:
        pattern: Its pattern, with its expressions as `Extend`.
        variables: What it projects, in order.
        modifier: `DISTINCT`, `REDUCED` or empty.
        order: Conditions of ORDER BY.
        offset: How many solutions are left out.
        limit: How many there are at most.
        span: Its first word.
        order_span: Where its ORDER BY, LIMIT or OFFSET stands.
    """

    pattern: Pattern
    variables: tuple[Variable, ...]
    modifier: str
    order: tuple[Order, ...]
    offset: int
    limit: int | None
    span: Span = field(compare=False, repr=False)
    order_span: Span = field(compare=False, repr=False)


Pattern: TypeAlias = (
    BasicGraphPattern
    | Join
    | LeftJoin
    | Union
    | Minus
    | Filter
    | Extend
    | Graph
    | Values
    | Service
    | Group
    | Select
)


@dataclass(frozen=True, slots=True)
class Window:
    """A window of RSP-QL: the triples of a stream's graph expire.

    Attributes:
        stream: The graph.
        after: How long after their time they leave, in milliseconds.
        every: They leave at multiples of it, in milliseconds.
        span: Where it stands.
    """

    stream: Constant
    after: int
    every: int
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Query:
    """A query.

    Attributes:
        form: `SELECT`, `CONSTRUCT`, `ASK` or `DESCRIBE`.
        select: Its solutions; CONSTRUCT and ASK project all variables in scope.
        template: The triples of CONSTRUCT.
        blank_nodes: The names of variables that stand for blank nodes of patterns; a blank node of
            the template is a variable of this name, too.
        dataset: Where FROM stands; None if there is none.
        default_graphs: The graphs of FROM.
        named_graphs: The graphs of FROM NAMED.
        described: The IRIs of DESCRIBE; its variables are those of `select`.
        base: The IRI that relative ones are resolved against; empty if there is none.
        prefixes: Prefix name to IRI.
        windows: The windows of RSP-QL.
    """

    form: str
    select: Select
    template: tuple[TriplePattern, ...]
    blank_nodes: frozenset[str]
    dataset: Span | None
    default_graphs: tuple[Constant, ...]
    named_graphs: tuple[Constant, ...]
    described: tuple[Constant, ...]
    base: str
    prefixes: tuple[tuple[str, str], ...]
    windows: tuple[Window, ...] = ()


def nodes(node: object) -> Iterator[object]:
    """A value of the algebra and all below it."""
    if isinstance(node, tuple):
        for each in node:
            yield from nodes(each)
    elif is_dataclass(node):
        yield node
        for part in fields(node):
            yield from nodes(getattr(node, part.name))


def variables_of(term: Path | Node | None) -> Iterator[Variable]:
    """The variables of a term, in textual order; a path has none."""
    match term:
        case Variable():
            yield term
        case TripleTerm(subject, predicate, value):
            for part in (subject, predicate, value):
                yield from variables_of(part)
        case _:
            pass


def in_scope(pattern: Pattern) -> dict[str, Variable]:
    """Variables that solutions of a pattern may bind, in textual order (section 18.2.1)."""
    found: dict[str, Variable] = {}
    for variable in _in_scope(pattern):
        found.setdefault(variable.name, variable)
    return found


def _in_scope(pattern: Pattern) -> Iterator[Variable]:  # noqa: C901 - a case for each
    match pattern:
        case BasicGraphPattern(triples):
            for triple in triples:
                for term in (triple.subject, triple.predicate, triple.object):
                    yield from variables_of(term)
        case Join(left, right) | LeftJoin(left, right) | Union(left, right):
            yield from _in_scope(left)
            yield from _in_scope(right)
        case Minus(left, _) | Filter(_, left):
            yield from _in_scope(left)
        case Extend(inner, variable, _):
            yield from _in_scope(inner)
            yield variable
        case Graph(name, inner):
            if isinstance(name, Variable):
                yield name
            yield from _in_scope(inner)
        case Values(variables) | Select(_, variables):
            yield from variables
        case Group(_, keys, results):
            yield from keys
            yield from (variable for variable, _ in results)
        case Service():
            pass
        case _:
            assert_never(pattern)


def mentioned(node: Expression | Pattern) -> frozenset[str]:  # noqa: PLR0911 - the same
    """The names of variables of an expression or pattern that can be seen from outside of it."""
    match node:
        case Variable(name):
            return frozenset({name})
        case Constant() | Service():
            return frozenset()
        case Apply(_, arguments):
            return frozenset().union(*map(mentioned, arguments))
        case Exists(pattern):
            return mentioned(pattern)
        case LeftJoin(left, right, condition):
            names = mentioned(left) | mentioned(right)
            return names if condition is None else names | mentioned(condition)
        case Join(left, right) | Union(left, right) | Minus(left, right) | Filter(left, right):
            return mentioned(left) | mentioned(right)
        case Extend(inner, variable, expression):
            return mentioned(inner) | {variable.name} | mentioned(expression)
        case Graph(_, inner):
            return mentioned(inner) | in_scope(node).keys()
        case BasicGraphPattern() | Values() | Group() | Select():
            return frozenset(in_scope(node))
        case _:
            assert_never(node)
