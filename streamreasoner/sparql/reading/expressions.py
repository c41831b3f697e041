"""Expressions. Invariant: an aggregate is a variable, whose aggregation its SELECT takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.sparql.algebra import Aggregation, Apply, Exists, Filter
from streamreasoner.sparql.reading import calls
from streamreasoner.sparql.reading.triples import TripleReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.lang.ast import Span
    from streamreasoner.sparql.algebra import Expression, Pattern
    from streamreasoner.sparql.reading.source import Source
    from streamreasoner.sparql.reading.term_reader import Place


@dataclass(frozen=True, slots=True)
class Group:
    """`{ … }`: its pattern, and the conjunction of its filters, which are about all of it."""

    pattern: Pattern
    condition: Expression | None

    @property
    def whole(self) -> Pattern:
        """Both."""
        return self.pattern if self.condition is None else Filter(self.condition, self.pattern)


@dataclass(frozen=True, slots=True)
class Signed:
    """A product that begins with a sign, which is an operator after an operand."""

    operator: str
    product: Expression


@dataclass(frozen=True, slots=True)
class Separator:
    """That of GROUP_CONCAT."""

    text: str


class ExpressionReader(TripleReader):
    """Reads the expressions of one text.

    Args:
        source: The text.
        base: What its first relative IRI is resolved against; empty if there is nothing.
    """

    def __init__(self, source: Source, base: str) -> None:
        super().__init__(source, base)
        # Aggregates that no SELECT has taken yet, and where they stand, in textual order.
        self._aggregates: list[tuple[int, Variable, Aggregation]] = []

    def either(self, place: Place, values: list[Expression]) -> Expression:
        """`a || b`."""
        return self._balanced("||", place, values)

    def both(self, place: Place, values: list[Expression]) -> Expression:
        """`a && b`."""
        return self._balanced("&&", place, values)

    def _balanced(self, operator: str, place: Place, values: Sequence[Expression]) -> Expression:
        """An associative operator on any number of operands, nested as little as possible."""
        if len(values) == 1:
            return values[0]
        middle = (len(values) + 1) // 2
        halves = values[:middle], values[middle:]
        operands = tuple(self._balanced(operator, place, half) for half in halves)
        return Apply(operator, operands, self._span(place))

    def comparison(self, place: Place, values: list[Any]) -> Expression:
        """`a < b`."""
        left, operator, right = values
        return Apply(str(operator), (left, right), self._span(place))

    def membership(self, place: Place, values: list[Any]) -> Expression:
        """`a IN (b, c)` or `a NOT IN (b, c)`."""
        value, *words, listed = values
        span = self._span(place)
        found = Apply("in", (value, *listed), span)
        return Apply("!", (found,), span) if words else found

    def arguments(self, _: Place, values: list[Expression]) -> tuple[Expression, ...]:
        """`(a, b)`."""
        return tuple(values)

    def sum(self, place: Place, values: list[Any]) -> Expression:
        """`a + b - c -1`, of which the last is a number with a sign by its tokens."""
        found: Expression = values[0]
        operator = ""
        for other in values[1:]:
            if isinstance(other, str):
                operator = str(other)
                continue
            operand = other
            if isinstance(other, Signed):
                operator, operand = other.operator, other.product
            found = Apply(operator, (found, operand), self._span(place))
        return found

    def product(self, place: Place, values: list[Any]) -> Expression:
        """`a * b / c`."""
        found: Expression = values[0]
        for operator, operand in zip(values[1::2], values[2::2], strict=True):
            found = Apply(str(operator), (found, operand), self._span(place))
        return found

    def signed_product(self, place: Place, values: list[Any]) -> Signed:
        """`-1 * a` after an operand."""
        token, *others = values
        number = self.number((place[0] + 1, place[0] + len(token)), [token[1:]])
        return Signed(token[0], self.product(place, [number, *others]))

    def negation(self, place: Place, values: list[Expression]) -> Expression:
        """`!a`."""
        return Apply("!", (values[0],), self._span(place))

    def sign(self, place: Place, values: list[Any]) -> Expression:
        """`-a` or `+a`."""
        operator, operand = values
        return Apply("negate" if operator == "-" else "plus", (operand,), self._span(place))

    def bracketed(self, _: Place, values: list[Expression]) -> Expression:
        """`(a)`."""
        return values[0]

    def exists(self, _: Place, values: list[Any]) -> Expression:
        """`EXISTS { … }`."""
        word, group = values
        return Exists(group.whole, self._word(word))

    def not_exists(self, place: Place, values: list[Any]) -> Expression:
        """`NOT EXISTS { … }`."""
        found = self.exists(place, values[1:])
        return Apply("!", (found,), found.span)

    def triple_value(self, place: Place, values: list[Any]) -> Expression:
        """`<<( ?s ?p ?o )>>` in an expression, which is TRIPLE of its parts."""
        found = self.triple_term(place, values)
        return found if isinstance(found, Constant) else Apply("TRIPLE", tuple(values), found.span)

    def separator(self, place: Place, values: list[str]) -> Separator:
        """`; SEPARATOR = ", "`."""
        return Separator(self._text(values[-1], place))

    def iri_call(self, place: Place, values: list[Any]) -> Expression:
        """`ex:function(a, b)`, such as a cast."""
        function, *arguments = values
        if any(isinstance(each, str) for each in arguments):
            raise self._refusal("a function has no DISTINCT", place, "leave it out")
        return Apply(function.term, tuple(arguments), function.span)

    def function_call(self, place: Place, values: list[Any]) -> Expression:
        """`name(a, b)`, an aggregate or a function."""
        token, *arguments = values
        name = token.upper()
        if name in calls.AGGREGATES:
            return self._aggregate(name, place, values)
        span = self._word(token)
        if any(isinstance(each, str | Separator) for each in arguments):
            message = f"`{token}` is not an aggregate, so it has no DISTINCT, `*` and SEPARATOR"
            raise self._refusal(message, span)
        if (wrong := calls.misuse(str(token), len(arguments))) is not None:
            raise self._refusal(wrong[0], span, wrong[1])
        if name == "BOUND" and not isinstance(arguments[0], Variable):
            raise self._refusal("`bound` takes a variable", span)
        return Apply(str(name), tuple(arguments), span)

    def _aggregate(self, name: str, place: Place, values: list[Any]) -> Variable:
        token, *arguments = values
        span = self._word(token)
        if (inner := self._aggregate_since(place[0])) is not None:
            message = f"{inner.function} is in another aggregate, {name}"
            raise self._refusal(message, inner.span, "compute it in a sub-query")
        words = {str(each).upper() for each in arguments if isinstance(each, str)}
        texts = [each.text for each in arguments if isinstance(each, Separator)]
        operands = [each for each in arguments if not isinstance(each, str | Separator)]
        if ("*" in words and name != "COUNT") or (texts and name != "GROUP_CONCAT"):
            what = "`*`" if "*" in words else "SEPARATOR"
            raise self._refusal(f"{name} has no {what}", span)
        if len(operands) != ("*" not in words):
            hint = 'write `; SEPARATOR = ", "` for a separator' if name == "GROUP_CONCAT" else None
            raise self._refusal(f"{name} takes 1 argument, not {len(operands)}", span, hint)
        expression = operands[0] if operands else None
        separator = texts[0] if texts else " "
        found = Aggregation(name, expression, "DISTINCT" in words, separator, span)
        variable = self._new(name.lower(), span)
        self._aggregates.append((place[0], variable, found))
        return variable

    def _aggregate_since(self, start: int) -> Aggregation | None:
        """The last aggregate after an offset."""
        if not self._aggregates or self._aggregates[-1][0] < start:
            return None
        return self._aggregates[-1][2]

    def _no_aggregates(self, start: int) -> None:
        """Refuse an aggregate after an offset."""
        if (found := self._aggregate_since(start)) is not None:
            message = f"{found.function} is allowed in SELECT, HAVING and ORDER BY only"
            hint = "compute it in a sub-query, or write HAVING instead of FILTER"
            raise self._refusal(message, found.span, hint)

    def _word(self, token: Any) -> Span:
        return self._span((token.start_pos, token.end_pos))
