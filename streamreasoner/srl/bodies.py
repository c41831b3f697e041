"""Rules of a rule set as rules. Invariant: a match of a body is a solution, one for one.

The order of elements matters for what is well-formed alone: an assignment that has an error drops
the solution, wherever it stands, and so does a condition. NOT is about the variables before it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NoReturn, assert_never

from streamreasoner.lang import traversal
from streamreasoner.lang.ast import (
    NOWHERE,
    TRIPLE,
    Atom,
    Call,
    Comparison,
    Constant,
    Negation,
    Variable,
    Wildcard,
)
from streamreasoner.lang.constants import triple_term
from streamreasoner.lang.traversal import substituted
from streamreasoner.sparql.algebra import Apply
from streamreasoner.sparql.rule_set import Absence, Assignment, Filter, Triple
from streamreasoner.sparql.rules.bodies import Body
from streamreasoner.sparql.rules.comparisons import decided_by_test
from streamreasoner.sparql.rules.conditions import Conditions
from streamreasoner.sparql.rules.dataset import may_be
from streamreasoner.sparql.rules.rulebook import atom
from streamreasoner.srl.well_formed import variables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.lang.ast import Expression as Value
    from streamreasoner.lang.ast import Literal, Span
    from streamreasoner.sparql.algebra import Expression, Node
    from streamreasoner.sparql.rule_set import Element
    from streamreasoner.sparql.rule_set import Rule as SourceRule
    from streamreasoner.sparql.rules.rulebook import Rulebook


class Bodies:
    """Writes the rules of one rule.

    Args:
        rule: The rule, which is well-formed.
        book: Takes its rules.
        blank_nodes: The names of variables that stand for blank nodes.
    """

    def __init__(self, rule: SourceRule, book: Rulebook, blank_nodes: frozenset[str]) -> None:
        self._rule, self._book, self._blank = rule, book, blank_nodes
        self._conditions = Conditions(book, _no_exists, rule.base, decided_by_test)
        # Variables that SET assigns and a later pattern reads: both have to be one term.
        self._rebound = _assigned_before_a_pattern(rule.body)

    def write(self) -> None:
        """Add the rules to the book."""
        bodies = [Body()]
        solution: dict[str, None] = {}
        for element in self._rule.body:
            bodies = [part for body in bodies for part in self._with(body, element)]
            match element:
                case Triple():
                    solution.update(dict.fromkeys(each.name for each in variables(element)))
                case Assignment(variable):
                    solution[variable.name] = None
                case _:
                    pass
        names = [self._book.variable(name) for name in solution]
        for body in bodies:
            heads: dict[tuple[Literal, ...], list[Atom]] = {}
            for triple in self._rule.head:
                terms = tuple(self._node(each, names) for each in triple.terms)
                head = Atom(TRIPLE, terms, triple.span)
                if is_possible(triple) and (tests := _tests(head, body)) is not None:
                    heads.setdefault(tests, []).append(head)
            for tests, found in heads.items():
                self._book.add(found, (*body.literals, *tests))

    def _node(self, term: Node, solution: list[str] | None = None) -> Value:
        """A term of a head, with its solution, for which blank nodes are new; or of a body."""
        match term:
            case Variable(name) if solution is not None and name in self._blank:
                known = (Variable(each, NOWHERE) for each in solution)
                return Call("skolem", (self._book.label(name), *known), term.span)
            case Variable(name):
                return Variable(self._book.variable(name), term.span)
            case Constant():
                return term
            case _:
                parts = (self._node(each, solution) for each in term.parts)
                return triple_term(parts, term.span)

    def _atom(self, triple: Triple, *, of_data: bool) -> Atom:
        terms = tuple(map(self._node, triple.terms))
        return Atom(TRIPLE, terms, triple.span, asserted=of_data)

    def _with(self, body: Body, element: Element) -> list[Body]:
        match element:
            case Triple() if not is_possible(element):
                return []
            case Triple():
                found = self._atom(element, of_data=self._rule.of_data)
                return [body.having((found,), _names(found))]
            case Filter(condition):
                return [body.having(way) for way in self._conditions.truth(condition, body)]
            case Assignment(variable, expression):
                return self._assigned(body, variable, expression)
            case Absence():
                return self._without(body, element)
            case _:
                assert_never(element)

    def _assigned(self, body: Body, variable: Variable, expression: object) -> list[Body]:
        name = self._book.variable(variable.name)
        self._conditions.solution = 0, set(body.bound)
        found = []
        for given, value in self._conditions.values(expression, body):  # type: ignore[arg-type]
            if variable.name not in self._rebound:
                test: Literal = Comparison(Variable(name, variable.span), "=", value, variable.span)
                found.append(body.having((*given, test), (name,)))
                continue
            other = Variable(self._book.fresh("value"), variable.span)
            tests = (
                Comparison(other, "=", value, variable.span),
                Call("same_term", (Variable(name, variable.span), other), variable.span),
            )
            found.append(body.having((*given, *tests), (name,)))
        return found

    def _without(self, body: Body, absence: Absence) -> list[Body]:
        match absence.body:
            case inner if not all(map(is_possible, inner)):
                return [body]
            case (Filter(Apply("=", (left, right))),) if _are_terms(left, right):
                return self._not_equal(body, left, right, absence.span)
            case _:
                return [body.having((self._absent(body, absence),))]

    def _not_equal(self, body: Body, left: Expression, right: Expression, span: Span) -> list[Body]:
        """That two terms are not equal, or SPARQL cannot tell whether they are."""
        [(_, x)], [(_, y)] = (self._conditions.values(each, body) for each in (left, right))
        undecided = Negation(Call("comparable", (x, y), span), span)
        ways = ((Comparison(x, "!=", y, span),), (Comparison(x, "=", y, span), undecided))
        return [body.having(way) for way in ways]

    def _absent(self, body: Body, absence: Absence) -> Negation:
        """That nothing matches: the pattern itself, or a predicate of what does."""
        of_data = absence.of_data or self._rule.of_data
        patterns = [each for each in absence.body if isinstance(each, Triple)]
        conditions = [each for each in absence.body if isinstance(each, Filter)]
        atoms = tuple(self._atom(each, of_data=of_data) for each in patterns)
        inner = dict.fromkeys(name for each in atoms for name in _names(each))
        uses = Counter(name for each in atoms for name in _all_names(each))
        local = [name for name in inner if name not in body.bound]
        if len(atoms) == 1 and not conditions and all(uses[name] == 1 for name in local):
            (only,) = atoms
            negated = substituted(only, dict.fromkeys(local, Wildcard(only.span)))
            return Negation(negated, absence.span)
        read = self._book.names(
            each.name for filter_ in conditions for each in variables(filter_.condition)
        )
        needs_outside = any(name not in inner for name in read)
        start = body if needs_outside else Body()
        parts = [start.having(atoms, inner)]
        for each in conditions:
            parts = [
                part.having(way)
                for part in parts
                for way in self._conditions.truth(each.condition, part)
            ]
        columns = tuple(name for name in body.bound if name in inner or name in read)
        predicate = self._book.helper("absent", columns, parts)
        return Negation(atom(predicate, columns), absence.span)


def _are_terms(*expressions: Expression) -> bool:
    return all(isinstance(each, Constant | Variable) for each in expressions)


def _no_exists(*_: object) -> NoReturn:
    raise AssertionError("conditions of rules have no EXISTS")


def _names(node: Atom) -> list[str]:
    return [*dict.fromkeys(_all_names(node))]


def _all_names(node: Atom) -> list[str]:
    return [each.name for each in traversal.variables(node)]


def is_possible(element: Triple | Filter) -> bool:
    """Whether a triple may be one, as no triple term has a literal or triple term as subject."""
    return isinstance(element, Filter) or all(map(may_be, element.terms))


def _tests(head: Atom, body: Body) -> tuple[Literal, ...] | None:
    """What makes a head a triple of RDF, whose predicate is an IRI; None if it never is one."""
    predicate = head.arguments[1]
    if not isinstance(predicate, Constant | Variable):
        return None
    if isinstance(predicate, Variable) and not _is_predicate(predicate, body):
        return (Call("is_iri", (predicate,), predicate.span),)
    return ()


def _is_predicate(variable: Variable, body: Body) -> bool:
    """Whether the body has a variable as a predicate, so that it is an IRI."""
    return any(
        isinstance(each, Atom) and each.predicate == TRIPLE and each.arguments[1] == variable
        for each in body.literals
    )


def _assigned_before_a_pattern(elements: Iterable[Element]) -> set[str]:
    assigned: set[str] = set()
    found: set[str] = set()
    for element in elements:
        match element:
            case Assignment(variable):
                assigned.add(variable.name)
            case Triple():
                found.update(each.name for each in variables(element) if each.name in assigned)
            case _:
                pass
    return found
