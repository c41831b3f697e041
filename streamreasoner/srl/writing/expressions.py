"""Terms, values and conditions in the syntax of SPARQL. Invariant: read again, they are the same.

What SPARQL-RL has in another meaning, or not at all, is refused with its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.printer import print_expression
from streamreasoner.rdf.term_kind import is_iri, is_resource
from streamreasoner.rdf.terms import parse
from streamreasoner.rdf.triple_terms import blank_nodes
from streamreasoner.rdf.vocabulary import XSD_STRING
from streamreasoner.sparql.functions import CONDITIONS, SEARCHES, VALUES
from streamreasoner.sparql.reading.rule_sets import ABSENT
from streamreasoner.sparql.rules.rulebook import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OPERATORS = frozenset("+-*/")
_FUNCTIONS = {name: text for text, name in VALUES.items() if text not in {*ABSENT, "URI"}}
_TESTS = {name: text for text, name in CONDITIONS.items() if text != "ISURI"}
_SEARCHES = {name: text for text, name in SEARCHES.items()}
_ONE_ARGUMENT = frozenset({"iri"})
_BY_ITSELF = "derive it from triples, or keep the rule in the rule language"


def unsaid(what: str, span: ast.Span, hint: str = _BY_ITSELF) -> UnsupportedError:
    """That SPARQL-RL does not have something."""
    return UnsupportedError(f"SPARQL-RL does not have {what}", span, hint)


class Expressions:
    """Writes the expressions of one rule.

    Args:
        prefixes: Prefixes to shorten IRIs by.
        fresh: Makes a variable that the rule does not have.
    """

    def __init__(self, prefixes: Mapping[str, str], fresh: Callable[[], str]) -> None:
        self._prefixes, self._fresh = prefixes, fresh
        self._labels: dict[ast.Expression, int] = {}

    def term(self, term: ast.Expression) -> str:
        """A term of a triple; `_` is a variable of its own."""
        match term:
            case ast.Constant(text, span):
                if any(blank_nodes(text)):
                    hint = "a blank node of a rule set is a variable, or a new node: name it by IRI"
                    raise unsaid("blank nodes of the input", span, hint)
                return print_expression(term, self._prefixes)
            case ast.Variable(name):
                return f"?{name}"
            case ast.Wildcard():
                return f"?{self._fresh()}"
            case ast.TripleTerm():
                return f"<<( {' '.join(map(self.term, term.parts))} )>>"
            case ast.Call(ast.NEW_NODE, (label,)):
                return f"_:n{self._labels.setdefault(label, len(self._labels) + 1)}"
            case _:
                raise unsaid("expressions in triples", term.span, "name it: `?n = …`")

    def value(self, expression: ast.Expression) -> str:
        """The value of an expression."""
        match expression:
            case ast.BinaryOperation(operator, left, right) if operator in _OPERATORS:
                return f"({self.value(left)} {operator} {self.value(right)})"
            case ast.BinaryOperation(operator):
                raise unsaid(f"the operator `{operator}`", expression.span)
            case ast.UnaryMinus(operand):
                return f"(- {self.value(operand)})"
            case ast.Call(function, arguments) if function in _FUNCTIONS:
                if function in _ONE_ARGUMENT and len(arguments) > 1:
                    raise unsaid(f"`{function}` of {len(arguments)} arguments", expression.span)
                if function == "replace":
                    self._pattern(expression, arguments[1])
                return f"{self._name(_FUNCTIONS[function])}({self._all(arguments)})"
            case ast.Constant() | ast.Variable() | ast.TripleTerm():
                return self.term(expression)
            case ast.Call(function):
                raise unsaid(f"the function `{function}`", expression.span)
            case ast.Aggregate() | ast.BodyAggregate():
                raise unsaid("aggregates", expression.span)
            case _:
                raise unsaid(
                    "`if`, which has no value where its condition has none", expression.span
                )

    def test(self, call: ast.Call) -> str:
        """A test of the rule language as a condition."""
        name, arguments = call.function, call.arguments
        if name in _TESTS:
            return f"{_TESTS[name]}({self._all(arguments)})"
        if name in _SEARCHES:
            self._pattern(call, arguments[1])
            return f"{_SEARCHES[name]}({self._all(arguments)})"
        if name == "matches":
            self._pattern(call, arguments[1])
            return f"REGEX({self._all(arguments)})"
        raise unsaid(f"the test `{name}`", call.span)

    def _pattern(self, call: ast.Call, text: ast.Expression) -> None:
        """Refuse a text to search for that may have a language, of which SPARQL has more to say."""
        if not isinstance(text, ast.Constant) or parse(text.term).datatype != XSD_STRING:
            what = f"`{call.function}` of a text that is not a constant string, as rules have it"
            raise unsaid(what, call.span)

    def _name(self, function: str) -> str:
        is_cast = is_iri(function)
        return (
            print_expression(ast.Constant(function, ast.NOWHERE), self._prefixes)
            if is_cast
            else function
        )

    def _all(self, arguments: tuple[ast.Expression, ...]) -> str:
        return ", ".join(map(self.value, arguments))


def tells_apart(comparison: ast.Comparison) -> bool:
    """Whether `!=` is that of SPARQL: a side is an IRI or a blank node."""
    sides = comparison.left, comparison.right
    return any(isinstance(each, ast.Constant) and is_resource(each.term) for each in sides)


def names_of(rule: ast.Rule) -> set[str]:
    """The variables of a rule."""
    nodes = (*rule.heads, *rule.body)
    return {each.name for node in nodes for each in traversal.variables(node)}
