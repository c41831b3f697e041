"""Expressions of SPARQL on terms (SPARQL 1.1, section 17).

Invariant: an expression has a term as its value, or none: an error, or a variable that is unbound.
Functions and arithmetic are those of rules, where the specification does not say otherwise.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, assert_never

from streamreasoner.errors import QueryError
from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.query.sparql.computing.comparison import equals, ordered
from streamreasoner.query.sparql.computing.functions import FUNCTIONS
from streamreasoner.rdf.term_kind import is_iri, is_resource
from streamreasoner.rdf.vocabulary import XSD_BOOLEAN
from streamreasoner.sparql.algebra import Apply, Exists
from streamreasoner.sparql.functions import CHANGING
from streamreasoner.sparql.regex_flags import FLAGS
from streamreasoner.values import builtins
from streamreasoner.values.comparison import Operator
from streamreasoner.values.formula import decided
from streamreasoner.values.literal import string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from streamreasoner.sparql.algebra import Expression

Row: TypeAlias = "Mapping[str, str]"
Value: TypeAlias = "Callable[[Row], str | None]"

TRUE = f'"true"^^<{XSD_BOOLEAN}>'
FALSE = f'"false"^^<{XSD_BOOLEAN}>'
SOLUTION = "solution:"
"""A variable with another node in each solution, from which BNODE makes those of its labels."""
_FRESH = CHANGING - {"NOW"}  # which is one time for all of a query
_NODE_DIGITS = 32
_COMPARISONS = {operator.value: operator for operator in Operator}


def is_fresh(expression: Expression) -> bool:
    """Whether each evaluation may have another value, whatever the row."""
    return any(
        isinstance(part, Apply) and part.function in _FRESH and not part.arguments
        for part in parts(expression)
    )


def variables_of(expression: Expression) -> set[str]:
    """The variables that an expression reads, without those of patterns in it."""
    names = {part.name for part in parts(expression) if isinstance(part, Variable)}
    has_labels = any(
        isinstance(part, Apply) and part.function == "BNODE" and part.arguments
        for part in parts(expression)
    )
    return names | {SOLUTION} if has_labels else names


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
                return lambda row: boolean(ordered(operator, left(row), right(row)))
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
                label = self.value(arguments[0])
                return lambda row: _node(row[SOLUTION], label(row))
            case "REGEX" | "REPLACE" if unknown := _unknown_flags(function, arguments):
                raise QueryError(
                    f"{function} has no flag {unknown!r}. Its flags are i, m, q, s and x."
                )
            case _ if (known := FUNCTIONS.get(function)) is not None:
                if is_iri(function) and len(arguments) != 1:
                    raise QueryError(f"{function} takes 1 argument, not {len(arguments)}.")
                return self._strict(known, arguments)
            case _:
                raise QueryError(
                    f"The query calls {function}, which SPARQL 1.2 does not have. Use a function "
                    "of its section 17.4, or derive the value by a rule."
                )

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
        constants = {each.term for each in listed if isinstance(each, Constant)}
        # An IRI is equal to itself only, so a long list of them is not walked.
        compared = [each for each in constants if not is_resource(each)]
        others = [self.value(each) for each in listed if not isinstance(each, Constant)]

        def call(row: Row) -> str | None:
            term = operand(row)
            if term is None or (term in constants and equals(term, term)):
                return None if term is None else TRUE
            known = () if is_resource(term) else compared
            results = chain(
                (equals(term, each) for each in known),
                (equals(term, other(row)) for other in others),
            )
            return boolean(decided(results, by=True))

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
        return builtins.apply("iri", [term, f"<{self._base}>"] if self._base else [term])


def truth(term: str | None) -> bool | None:
    """The effective boolean value of a term (section 17.2.2); None: an error."""
    return None if term is None else builtins.test("effective_boolean", [term])


def boolean(holds: bool | None) -> str | None:  # noqa: FBT001  (a value, not a flag)
    """A truth value as a term."""
    return None if holds is None else TRUE if holds else FALSE


def _same(is_equal: bool | None, wanted: bool) -> bool | None:  # noqa: FBT001
    return None if is_equal is None else is_equal == wanted


def _negation(holds: bool | None) -> bool | None:  # noqa: FBT001
    return None if holds is None else not holds


def _first(terms: Iterable[str | None]) -> str | None:
    return next((term for term in terms if term is not None), None)


def _node(solution: str, label: str | None) -> str | None:
    """The blank node of a label in a solution (section 17.4.2.9)."""
    text = None if label is None else string(label)
    if text is None or text.language is not None:
        return None
    return f"_:b{sha256(f'{solution} {text.lexical}'.encode()).hexdigest()[:_NODE_DIGITS]}"


def _unknown_flags(function: str, arguments: Sequence[Expression]) -> str:
    """The flags that do not exist, where a call of REGEX or REPLACE has flags that are constant."""
    position = 2 if function == "REGEX" else 3
    flags = arguments[position] if len(arguments) > position else None
    text = string(flags.term) if isinstance(flags, Constant) else None
    return "" if text is None else "".join(sorted(set(text.lexical) - FLAGS))
