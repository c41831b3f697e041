"""Queries with variables that have values already, as SHACL has them.

Invariant: the answers are those of the query with each value in place of its variable.

Source: Shapes Constraint Language (SHACL), W3C Recommendation of 20 July 2017, appendix A. A value
that is known is put into the query; variables with many values are *given*, by a body that each
part of the query is joined with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from streamreasoner.lang.ast import NOWHERE, Atom, Constant, Span, Variable
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.sparql.algebra import (
    Apply,
    Extend,
    Group,
    Minus,
    Select,
    Service,
    TriplePattern,
    Values,
    in_scope,
    nodes,
)
from streamreasoner.sparql.compile import Construct
from streamreasoner.sparql.lasting import rebuilt, with_lasting_names
from streamreasoner.sparql.rules.bodies import NOTHING_GIVEN, Body
from streamreasoner.sparql.rules.dataset import Dataset
from streamreasoner.sparql.rules.patterns import Patterns
from streamreasoner.sparql.rules.rulebook import Rulebook, UnsupportedError, atom

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from streamreasoner.lang.ast import Rule
    from streamreasoner.sparql.algebra import Path, Pattern, Query, Term

_Node = TypeVar("_Node")


def derive_prebound(
    query: Query,
    predicate: str,
    given: tuple[str, Sequence[str]],
    terms: Mapping[str, Term | Path],
    columns: Sequence[str],
) -> list[Rule]:
    """The rules that derive the answers of a SELECT or ASK as facts.

    Args:
        query: The query.
        predicate: The predicate of the facts, which the names of helpers begin with.
        given: A predicate of rules, and the variables that its arguments are the values of.
        terms: The values of other variables, by their names.
        columns: The variables that are the arguments of a fact.

    Raises:
        UnsupportedError: The query may not be used so, or has no rules; with its place.
    """
    source, known = given
    _check(query, frozenset((*known, *terms)), frozenset(known))
    select = _Substitution(terms, known[0]).put(query.select)
    book = Rulebook(predicate, sorted({*_names(select), *known}))
    variables = tuple(map(book.variable, known))
    given_body = Body((atom(source, variables),), variables)
    patterns = Patterns(book, Dataset(query, book), given_body)
    for body in patterns.joins.with_given(patterns.solutions(select)):
        arguments = [body.argument(book.variable(name)) for name in columns]
        book.derive(predicate, arguments, body.literals)
    if not any(head.predicate == predicate for rule in book.rules for head in rule.heads):
        unbound = [Constant(UNBOUND, NOWHERE) for _ in columns]
        book.derive(predicate, unbound, (Atom(book.predicate("nothing"), (), NOWHERE),))
    return book.rules


def derive_triples(query: Query, name: str, given: tuple[str, str] | None) -> list[Rule]:
    """The rules that derive the triples of a CONSTRUCT.

    MINUS and VALUES are allowed where they say nothing of the variable that has its value: there
    it makes no difference whether the value is put into them.

    Args:
        query: The query.
        name: What the names of helpers begin with.
        given: A predicate of rules, and the variable that its argument is the value of; None if no
            variable has its value before.

    Raises:
        UnsupportedError: The query may not be used so, or has no rules; with its place.
    """
    pattern = with_lasting_names(query.select.pattern)
    query = replace(query, select=replace(query.select, pattern=pattern))
    if given is None:
        book = Rulebook(name, sorted(_names((query.select, query.template))))
        patterns = Patterns(book, Dataset(query, book), NOTHING_GIVEN)
        Construct(query, book).write(patterns.solutions(query.select))
        return book.rules
    source, known = given
    _check(query, frozenset({known}), frozenset({known}), apart=known)
    book = Rulebook(name, sorted({*_names((query.select, query.template)), known}))
    variable = book.variable(known)
    patterns = Patterns(book, Dataset(query, book), Body((atom(source, [variable]),), (variable,)))
    bodies = patterns.joins.with_given(patterns.solutions(query.select))
    Construct(query, book, (variable,)).write(bodies)
    return book.rules


def derive_answers(query: Query, predicate: str, columns: Sequence[str]) -> list[Rule]:
    """The rules that derive the answers of a SELECT as facts; see `derive_prebound`.

    Raises:
        UnsupportedError: The query has no rules; with its place.
    """
    book = Rulebook(predicate, sorted(_names(query.select)))
    for body in Patterns(book, Dataset(query, book)).solutions(query.select):
        arguments = [body.argument(book.variable(name)) for name in columns]
        book.derive(predicate, arguments, body.literals)
    return book.rules


def _check(
    query: Query, prebound: frozenset[str], given: frozenset[str], *, apart: str | None = None
) -> None:
    """Refuse what SHACL does not allow in queries with values (appendix A).

    Args:
        query: The query.
        prebound: All variables that have values.
        given: Those with many values.
        apart: Allows MINUS and VALUES that do not mention this variable.
    """
    for node in nodes(query.select):
        match node:
            case Minus(left, right) if apart is not None and _is_apart(left, right, apart):
                pass
            case Values() if apart is not None and apart not in _names(node):
                pass
            case Minus(_, _, span):
                raise _disallowed("MINUS", span, "write FILTER NOT EXISTS")
            case Values(_, _, span):
                raise _disallowed("VALUES", span, "write FILTER (?x IN (…))")
            case Service(_, span):
                raise _disallowed("SERVICE", span, "let the input bring what it would answer")
            case Extend(_, variable) if variable.name in prebound:
                message = f"a query in shapes cannot assign the pre-bound variable ${variable.name}"
                raise UnsupportedError(message, variable.span, "assign another variable")
            case Select(_, variables, _, _, _, _, span) if node is not query.select:
                if missing := given.difference(each.name for each in variables):
                    names = " ".join(f"${name}" for name in sorted(missing))
                    message = f"a sub-query in shapes does not select {names}"
                    raise UnsupportedError(message, span, f"add {names} after its SELECT")


def _is_apart(left: Pattern, right: Pattern, known: str) -> bool:
    """Whether MINUS removes the same solutions if both sides are joined with the known values."""
    shared = set(in_scope(left)).intersection(in_scope(right))
    return known not in _names(right) and bool(shared)


def _disallowed(what: str, span: Span, hint: str) -> UnsupportedError:
    return UnsupportedError(f"SHACL does not allow {what} in a query", span, hint)


class _Substitution:
    """Puts terms and paths in place of variables.

    Args:
        terms: What to put, by the names of variables.
        key: A given variable, which a group without keys of its own is grouped by.
    """

    def __init__(self, terms: Mapping[str, Term | Path], key: str) -> None:
        self._terms = terms
        self._key = Variable(key, NOWHERE)

    def put(self, node: _Node) -> _Node:
        """The same node with terms."""
        match node:
            case Apply("BOUND", (Variable(name),), span) if name in self._terms:
                return cast("_Node", Constant(to_ntriples(True), span))  # noqa: FBT003 - a term
            case Variable(name):
                return cast("_Node", self._terms.get(name, node))
            case TriplePattern(subject, Variable(name) as predicate, value):
                ends = self.put(subject), self.put(value)
                path = self._terms.get(name, predicate)
                return cast("_Node", TriplePattern(ends[0], path, ends[1]))
            case Select():
                kept = self._kept(node.variables)
                pattern, order = self.put(node.pattern), self.put(node.order)
                select = replace(node, pattern=pattern, variables=kept, order=order)
                return cast("_Node", select)
            case Group():
                keys = self._kept(node.keys) or ((self._key,) if node.keys else ())
                pattern, results = self.put(node.pattern), self.put(node.results)
                return cast("_Node", replace(node, pattern=pattern, keys=keys, results=results))
            case _:
                return rebuilt(node, self.put)

    def _kept(self, variables: Iterable[Variable]) -> tuple[Variable, ...]:
        return tuple(each for each in variables if each.name not in self._terms)


def _names(node: object) -> Iterator[str]:
    return (each.name for each in nodes(node) if isinstance(each, Variable))
