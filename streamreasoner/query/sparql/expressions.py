"""Expressions of SPARQL on terms (SPARQL 1.1, section 17).

Invariant: an expression has a term as its value, or none: an error, or a variable that is unbound.
Values mean what they mean in rules: comparison and arithmetic are those of `values`.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, TypeAlias, assert_never

from streamreasoner.errors import QueryError, TermError
from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.query.sparql.functions import FUNCTIONS
from streamreasoner.rdf.iris import resolve
from streamreasoner.rdf.vocabulary import XSD_BOOLEAN
from streamreasoner.sparql.algebra import Apply, Exists
from streamreasoner.sparql.functions import CHANGING
from streamreasoner.values import builtins
from streamreasoner.values.comparison import Operator, compare
from streamreasoner.values.formula import decided
from streamreasoner.values.literal import canonical, literal, string
from streamreasoner.values.valuation import ValueKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from streamreasoner.sparql.algebra import Expression

Row: TypeAlias = "Mapping[str, str]"
Value: TypeAlias = "Callable[[Row], str | None]"

TRUE = f'"true"^^<{XSD_BOOLEAN}>'
FALSE = f'"false"^^<{XSD_BOOLEAN}>'
_FRESH = CHANGING - {"NOW"}  # which is one time for all of a query
_NUMBERS = {ValueKind.EXACT, ValueKind.DOUBLE, ValueKind.INTEGER}
_COMPARISONS = {operator.value: operator for operator in Operator}


def is_fresh(expression: Expression) -> bool:
    """Whether each evaluation may have another value, whatever the row."""
    return any(isinstance(part, Apply) and part.function in _FRESH for part in parts(expression))


def variables_of(expression: Expression) -> set[str]:
    """The variables that an expression reads, without those of patterns in it."""
    return {part.name for part in parts(expression) if isinstance(part, Variable)}


def patterns_in(expression: Expression) -> list[Exists]:
    """The patterns of an expression whose matches it asks for."""
    return [part for part in parts(expression) if isinstance(part, Exists)]


def parts(expression: Expression) -> Iterator[Expression]:
    """An expression and all in it, outermost first, without patterns."""
    yield expression
    if isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from parts(argument)


class Expressions:
    """Makes functions of expressions.

    Attributes:
        exists: For each EXISTS, by its `id`, the variable that has its truth.

    Args:
        now: The time of the query, as a term.
        base: The IRI that IRI() resolves against; empty: none.
    """

    def __init__(self, now: str, base: str) -> None:
        self.exists: dict[int, str] = {}
        self._now = now
        self._base = base

    def value(self, expression: Expression) -> Value:
        """The function that has the value of an expression for a row.

        Raises:
            QueryError: It calls a function that does not exist.
        """
        match expression:
            case Variable(name):
                return lambda row: row.get(name)
            case Constant(term):
                return lambda _: term
            case Exists():
                variable = self.exists[id(expression)]
                return lambda row: row.get(variable)
            case Apply(function, arguments):
                return self._applied(function, arguments)
            case _:
                assert_never(expression)

    def _applied(  # noqa: C901, PLR0911, PLR0912  (one per operator)
        self, function: str, arguments: tuple[Expression, ...]
    ) -> Value:
        match function:
            case "&&" | "||":
                return self._logical(arguments, decisive=function == "||")
            case "!":
                operand = self.value(arguments[0])
                return lambda row: boolean(_negation(truth(operand(row))))
            case "in":
                return self._in(*arguments)
            case "=" | "!=":
                left, right = map(self.value, arguments)
                wanted = function == "="
                return lambda row: boolean(_same(equals(left(row), right(row)), wanted))
            case _ if function in _COMPARISONS:
                left, right = map(self.value, arguments)
                operator = _COMPARISONS[function]
                return lambda row: boolean(_ordered(operator, left(row), right(row)))
            case "BOUND":
                operand = self.value(arguments[0])
                return lambda row: boolean(operand(row) is not None)
            case "IF":
                return self._if(*arguments)
            case "COALESCE":
                operands = [self.value(each) for each in arguments]
                return lambda row: _first(operand(row) for operand in operands)
            case "NOW":
                return lambda _: self._now
            case "IRI" | "URI":
                return self._strict(self._iri, arguments)
            case "BNODE" if arguments:
                raise QueryError(
                    "BNODE with a label is not supported. Use BNODE(), or the same blank node of a "
                    "CONSTRUCT template."
                )
            case _ if function.startswith("<") and len(arguments) != 1:
                raise QueryError(f"{function} takes 1 argument, not {len(arguments)}.")
            case _ if (known := FUNCTIONS.get(function)) is not None:
                return self._strict(known, arguments)
            case _:
                raise QueryError(f"The query calls {function}, which is no function of SPARQL 1.1.")

    def _strict(
        self, function: Callable[..., str | None], arguments: Sequence[Expression]
    ) -> Value:
        """A function of values that has none if one of them is missing."""
        operands = [self.value(argument) for argument in arguments]

        def call(row: Row) -> str | None:
            terms = [operand(row) for operand in operands]
            return None if None in terms else function(*terms)

        return call

    def _logical(self, arguments: Sequence[Expression], *, decisive: bool) -> Value:
        """`||` and `&&` (section 17.2): a decisive operand wins over an error."""
        operands = [self.value(argument) for argument in arguments]

        def call(row: Row) -> str | None:
            return boolean(decided((truth(operand(row)) for operand in operands), by=decisive))

        return call

    def _in(self, expression: Expression, *listed: Expression) -> Value:
        """Whether a value is equal to one of a list (section 17.4.1.9)."""
        operand = self.value(expression)
        others = [self.value(each) for each in listed]

        def call(row: Row) -> str | None:
            term = operand(row)
            return boolean(decided((equals(term, other(row)) for other in others), by=True))

        return call

    def _if(self, condition: Expression, then: Expression, otherwise: Expression) -> Value:
        test, first, second = map(self.value, (condition, then, otherwise))

        def call(row: Row) -> str | None:
            match truth(test(row)):
                case None:
                    return None
                case True:
                    return first(row)
                case False:
                    return second(row)

        return call

    def _iri(self, term: str) -> str | None:
        text = string(term)
        if text is not None and text.language is None and self._base:
            try:
                term = canonical(resolve(text.lexical, self._base))
            except TermError:
                return None
        return builtins.apply("iri", [term])


def truth(term: str | None) -> bool | None:
    """The effective boolean value of a term (section 17.2.2); None: an error."""
    return None if term is None else builtins.test("effective_boolean", [term])


def boolean(holds: bool | None) -> str | None:  # noqa: FBT001  (a value, not a flag)
    """A truth value as a term."""
    return None if holds is None else TRUE if holds else FALSE


def equals(left: str | None, right: str | None) -> bool | None:
    """RDFterm-equal, or equal by value where both values can be compared (17.3, 17.4.1.7).

    Literals of different kinds of values are different; None, an error, if one of two different
    literals has a datatype without known values.
    """
    if left is None or right is None:
        return None
    a, b = literal(left), literal(right)
    if a is None or b is None:
        return left == right
    if ValueKind.NONE not in (a.value.kind, b.value.kind):
        return compare(left, right) == 0 and not isnan(a.value.double)
    if left == right:
        return True
    unknown = any(each.value.kind is ValueKind.NONE and each.language is None for each in (a, b))
    return None if unknown else False


def _ordered(operator: Operator, left: str | None, right: str | None) -> bool | None:
    if left is None or right is None:
        return None
    a, b = literal(left), literal(right)
    if a is None or b is None or ValueKind.NONE in (a.value.kind, b.value.kind):
        return None
    if isnan(a.value.double) or isnan(b.value.double):
        return False if {a.value.kind, b.value.kind} <= _NUMBERS else None
    order = compare(left, right)
    return None if order is None else operator.accepts(order)


def _same(is_equal: bool | None, wanted: bool) -> bool | None:  # noqa: FBT001
    return None if is_equal is None else is_equal == wanted


def _negation(holds: bool | None) -> bool | None:  # noqa: FBT001
    return None if holds is None else not holds


def _first(terms: Iterable[str | None]) -> str | None:
    return next((term for term in terms if term is not None), None)
