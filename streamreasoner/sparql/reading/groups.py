"""Groups (section 18.2.2). Invariant: a name is bound once, and a label is in one pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamreasoner.counts import counted
from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.sparql.algebra import (
    BasicGraphPattern,
    Extend,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Service,
    Union,
    Values,
    in_scope,
)
from streamreasoner.sparql.reading.expressions import ExpressionReader, Group
from streamreasoner.sparql.reading.triples import Triples

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamreasoner.lang.ast import Span
    from streamreasoner.sparql.algebra import Expression, Pattern, Term
    from streamreasoner.sparql.reading.source import Source
    from streamreasoner.sparql.reading.term_reader import Place

EMPTY = BasicGraphPattern(())


@dataclass(frozen=True, slots=True)
class Condition:
    """`FILTER condition`, which is about the whole group."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Optional:
    """`OPTIONAL { … }`."""

    group: Group
    span: Span


@dataclass(frozen=True, slots=True)
class Without:
    """`MINUS { … }`."""

    group: Group
    span: Span


@dataclass(frozen=True, slots=True)
class Binding:
    """`BIND (expression AS ?variable)`, also of SELECT and GROUP BY."""

    expression: Expression
    variable: Variable


class GroupReader(ExpressionReader):
    """Reads the groups of one text.

    Args:
        source: The text.
        base: What its first relative IRI is resolved against; empty if there is nothing.
    """

    def __init__(self, source: Source, base: str) -> None:
        super().__init__(source, base)
        self._streams: dict[str, Constant] = {}
        # The basic graph pattern of each label, by a number of its own, and where it stands first.
        self._pattern_of: dict[str, tuple[int, Place]] = {}
        self._patterns = 0

    def group(self, place: Place, values: list[Any]) -> Group:
        """`{ … }`: its parts in order, and its filters at last."""
        self._no_aggregates(place[0])
        pattern: Pattern = EMPTY
        triples: list[Triples] = []
        conditions: list[Expression] = []
        for value in values:
            match value:
                case Triples():
                    triples.append(value)
                case Condition(expression):
                    conditions.append(expression)
                case _:
                    pattern = self._with_part(self._with_triples(pattern, triples), value)
                    triples = []
        pattern = self._with_triples(pattern, triples)
        condition = self._balanced("&&", place, conditions) if conditions else None
        return Group(pattern, condition)

    def _with_triples(self, pattern: Pattern, blocks: Sequence[Triples]) -> Pattern:
        """A group with a basic graph pattern, whose blank nodes are its own (section 4.1.4)."""
        if not blocks:
            return pattern
        self._take_labels(each for block in blocks for each in block.labels)
        found = BasicGraphPattern(tuple(each for block in blocks for each in block.triples))
        return joined(pattern, found)

    def _take_labels(self, labels: Iterable[tuple[str, Place]]) -> None:
        """Give labels to a pattern or to data, which no other one can have."""
        self._patterns += 1
        for label, place in labels:
            pattern, first = self._pattern_of.setdefault(label, (self._patterns, place))
            if pattern != self._patterns:
                message = f"the blank node {label} is in two graph patterns"
                raise self._refusal(message, max(first, place), "write a variable instead")

    def _with_part(self, pattern: Pattern, part: Any) -> Pattern:
        match part:
            case Optional(Group(right, condition), span):
                return LeftJoin(pattern, right, condition, span)
            case Without(group, span):
                return Minus(pattern, group.whole, span)
            case Binding():
                return self._extend(pattern, part)
            case _:
                return joined(pattern, part)

    def _extend(self, pattern: Pattern, binding: Binding) -> Extend:
        variable = binding.variable
        if variable.name in in_scope(pattern):
            message = f"?{variable.name} is bound already"
            hint = "give the value of the expression a name of its own"
            raise self._refusal(message, variable.span, hint)
        return Extend(pattern, variable, binding.expression)

    def filter(self, _: Place, values: list[Expression]) -> Condition:
        """`FILTER condition`."""
        return Condition(values[0])

    def optional(self, place: Place, values: list[Group]) -> Optional:
        """`OPTIONAL { … }`."""
        return Optional(values[0], self._keyword(place, "OPTIONAL"))

    def minus(self, place: Place, values: list[Group]) -> Without:
        """`MINUS { … }`."""
        return Without(values[0], self._keyword(place, "MINUS"))

    def bind(self, _: Place, values: list[Any]) -> Binding:
        """`BIND (expression AS ?variable)`."""
        return Binding(*values)

    def union(self, place: Place, values: list[Group]) -> Pattern:
        """`{ … } UNION { … }`, nested as little as possible; also one group alone."""
        if len(values) == 1:
            return values[0].whole
        middle = (len(values) + 1) // 2
        return Union(self.union(place, values[:middle]), self.union(place, values[middle:]))

    def graph(self, place: Place, values: list[Any]) -> Pattern:
        """`GRAPH name { … }`."""
        name, group = values
        return Graph(name, group.whole, self._keyword(place, "GRAPH"))

    def window(self, place: Place, values: list[Any]) -> Pattern:
        """`WINDOW name { … }`: the graph of the window's stream."""
        name, group = values
        stream = self._streams.get(name.term) if isinstance(name, Constant) else None
        if stream is None:
            shown = name.term if isinstance(name, Constant) else f"?{name.name}"
            hint = "write `FROM NAMED WINDOW <w> ON <stream> [RANGE PT10M STEP PT1M]` before WHERE"
            raise self._refusal(f"the window {shown} is unknown", name.span, hint)
        return Graph(stream, group.whole, self._keyword(place, "WINDOW"))

    def service(self, place: Place, values: list[Any]) -> Pattern:
        """`SERVICE name { … }`."""
        name: Term = next(each for each in values if isinstance(each, Constant | Variable))
        return Service(name, self._keyword(place, "SERVICE"))

    def values(self, place: Place, values: list[Any]) -> Values:
        """`VALUES ?x { 1 2 }` or `VALUES (?x ?y) { (1 2) }`."""
        span = self._keyword(place, "VALUES")
        first, *others = values
        if isinstance(first, Variable):
            return Values((first,), tuple((each,) for each in others), span)
        names: set[str] = set()
        for variable in first:
            if variable.name in names:
                raise self._refusal(f"?{variable.name} is twice in VALUES", variable.span)
            names.add(variable.name)
        for row, row_span in others:
            if len(row) != len(first):
                variables = counted(len(first), "variable")
                message = f"a row of VALUES has {counted(len(row), 'value')} for {variables}"
                raise self._refusal(message, row_span, "write UNDEF for a value that is missing")
        return Values(first, tuple(row for row, _ in others), span)

    def variables(self, _: Place, values: list[Variable]) -> tuple[Variable, ...]:
        """`(?x ?y)`."""
        return tuple(values)

    def row(
        self, place: Place, values: list[Constant | None]
    ) -> tuple[tuple[Constant | None, ...], Span]:
        """`(1 UNDEF)`."""
        return tuple(values), self._span(place)

    def undef(self, _place: Place, _values: list[Any]) -> None:
        """`UNDEF`."""

    def _keyword(self, place: Place, word: str) -> Span:
        """The word that a node begins with."""
        return self._span((place[0], place[0] + len(word)))


def joined(left: Pattern, right: Pattern) -> Pattern:
    """A join; adjacent triple patterns are one basic graph pattern."""
    match left, right:
        case BasicGraphPattern(first), BasicGraphPattern(second):
            return BasicGraphPattern(first + second)
        case BasicGraphPattern(()), _:
            return right
        case Join(before, BasicGraphPattern(first)), BasicGraphPattern(second):
            return Join(before, BasicGraphPattern(first + second))
        case _:
            return Join(left, right)
