"""The clauses around WHERE. Invariant: a number is what it counts, and a clause knows its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamreasoner import durations
from streamreasoner.sparql.algebra import Order, Values, Window
from streamreasoner.sparql.reading.groups import Binding, GroupReader

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Constant, Span, Variable
    from streamreasoner.sparql.algebra import Expression
    from streamreasoner.sparql.reading.term_reader import Place


_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Projection:
    """`SELECT DISTINCT ?x (expression AS ?y)`; `items` is None in `SELECT *`."""

    modifier: str
    items: tuple[Variable | Binding, ...] | None
    span: Span


@dataclass(frozen=True, slots=True)
class Dataset:
    """`FROM graph` or `FROM NAMED graph`."""

    graph: Constant
    is_named: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Grouping:
    """`GROUP BY`."""

    keys: tuple[Expression | Binding, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Having:
    """`HAVING`."""

    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Ordering:
    """`ORDER BY`."""

    conditions: tuple[Order, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Limit:
    """`LIMIT`."""

    count: int
    span: Span


@dataclass(frozen=True, slots=True)
class Offset:
    """`OFFSET`."""

    count: int
    span: Span


@dataclass(frozen=True, slots=True)
class Modifiers:
    """What stands after WHERE."""

    grouping: Grouping | None
    having: tuple[Expression, ...]
    ordering: Ordering | None
    limit: Limit | None
    offset: Offset | None
    values: Values | None

    def order_span(self, otherwise: Span) -> Span:
        """Where the order of the solutions matters first."""
        found = self.ordering or self.limit or self.offset
        return otherwise if found is None else found.span


class ModifierReader(GroupReader):
    """Reads the clauses around WHERE."""

    def select_clause(self, place: Place, values: list[Any]) -> Projection:
        """`SELECT DISTINCT ?x (expression AS ?y)` or `SELECT *`."""
        words = [str(each).upper() for each in values if isinstance(each, str)]
        items = tuple(each for each in values if not isinstance(each, str))
        modifier = next((each for each in words if each != "*"), "")
        span = self._keyword(place, "SELECT")
        return Projection(modifier, None if "*" in words else items, span)

    def projected(self, _: Place, values: list[Any]) -> Binding:
        """`(expression AS ?variable)`."""
        return Binding(*values)

    def from_default(self, place: Place, values: list[Constant]) -> Dataset:
        """`FROM graph`."""
        return Dataset(values[-1], is_named=False, span=self._keyword(place, "FROM"))

    def from_named(self, place: Place, values: list[Constant]) -> Dataset:
        """`FROM NAMED graph`."""
        return Dataset(values[-1], is_named=True, span=self._keyword(place, "FROM"))

    def from_window(self, place: Place, values: list[Any]) -> Window:
        """`FROM NAMED WINDOW name ON stream [RANGE PT10M STEP PT1M]`."""
        _, name, stream, *lengths = values
        after, every = (*map(self._milliseconds, lengths), 1)[:2]
        self._streams[name.term] = stream
        return Window(stream, after, every, self._span(place))

    def _milliseconds(self, token: Any) -> int:
        try:
            length = durations.milliseconds(str(token))
        except ValueError:
            length = 0
        if not length:
            message = f"{token} is not a duration"
            raise self._refusal(message, self._word(token), f"write {durations.ALLOWED}")
        return length

    def modifiers(self, _: Place, values: list[Any]) -> Modifiers:
        """What stands after WHERE, in its order."""
        found = {type(each): each for each in values}
        having = found.get(Having)
        return Modifiers(
            found.get(Grouping),
            having.conditions if having else (),
            found.get(Ordering),
            found.get(Limit),
            found.get(Offset),
            found.get(Values),
        )

    def group_by(self, place: Place, values: list[Any]) -> Grouping:
        """`GROUP BY ?x (expression AS ?y)`."""
        self._no_aggregates(place[0])
        return Grouping(tuple(values), self._keyword(place, "GROUP"))

    def key(self, _: Place, values: list[Any]) -> Expression | Binding:
        """`(expression AS ?variable)` or `(expression)`."""
        return Binding(*values) if values[1:] else values[0]

    def having(self, _: Place, values: list[Expression]) -> Having:
        """`HAVING (condition)`."""
        return Having(tuple(values))

    def order_by(self, place: Place, values: list[Order]) -> Ordering:
        """`ORDER BY ?x DESC(?y)`."""
        return Ordering(tuple(values), self._keyword(place, "ORDER"))

    def order(self, _: Place, values: list[Expression]) -> Order:
        """`?x` or `(expression)`."""
        return Order(values[0], descending=False)

    def ordered(self, _: Place, values: list[Any]) -> Order:
        """`ASC(expression)` or `DESC(expression)`."""
        return Order(values[1], descending=values[0].upper() == "DESC")

    def limit(self, place: Place, values: list[Any]) -> Limit:
        """`LIMIT 10`."""
        return Limit(self._count("LIMIT", values[0]), self._keyword(place, "LIMIT"))

    def offset(self, place: Place, values: list[Any]) -> Offset:
        """`OFFSET 10`."""
        return Offset(self._count("OFFSET", values[0]), self._keyword(place, "OFFSET"))

    def _count(self, clause: str, token: Any) -> int:
        if not token.isdigit() or len(token) > _DIGITS:
            raise self._refusal(f"{clause} takes a whole number, not {token}", self._word(token))
        return int(token)
