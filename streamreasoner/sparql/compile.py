"""A query to a program of rules. Invariant: the facts of its predicate are its answers."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, cast

from streamreasoner.errors import ProgramError, TermError
from streamreasoner.lang.ast import (
    ARITIES,
    NOWHERE,
    QUAD,
    TRIPLE,
    Atom,
    Call,
    Constant,
    Expires,
    Hidden,
    Negation,
    PredicateIndicator,
    Prefix,
    Program,
    Span,
    Variable,
    Wildcard,
)
from streamreasoner.lang.constants import triple_term
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.parser import ParsedText
from streamreasoner.lang.places import Places, placed
from streamreasoner.lang.printer import PREFIX_NAME
from streamreasoner.rdf.term_kind import is_resource
from streamreasoner.rdf.terms import canonical
from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.sparql.algebra import TripleTerm, in_scope, variables_of
from streamreasoner.sparql.parse import parse_query
from streamreasoner.sparql.rules.dataset import Dataset, may_be
from streamreasoner.sparql.rules.patterns import Patterns
from streamreasoner.sparql.rules.rulebook import Rulebook, UnsupportedError
from streamreasoner.values.builtins import TESTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.lang.ast import Directive, Expression, Literal, Rule
    from streamreasoner.sparql.algebra import Query, TriplePattern
    from streamreasoner.sparql.rules.bodies import Body

_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")


def compile_query(text: str, source: str, name: str) -> ParsedText:
    """Read a query in SPARQL as rules that derive its answers.

    The answers of SELECT are facts of a predicate with the variables as arguments, `UNBOUND` for
    one that is unbound; ASK has a predicate without arguments; CONSTRUCT derives triples.

    Args:
        text: The query.
        source: Name of the text in diagnostics.
        name: The predicate of its answers.
    """
    beginning = Places(source, text).span(0, 1)
    try:
        query = parse_query(text, source)
        rules, warnings = _rules(query, name, beginning)
    except ProgramError as error:
        return _refused(text, source, cast("tuple[Diagnostic, ...]", error.diagnostics))
    except UnsupportedError as error:
        span = beginning if error.span == NOWHERE else error.span
        return _refused(text, source, (Diagnostic("SR261", str(error), span, error.hint),))
    directives: list[Directive] = [
        Prefix(prefix, iri, beginning)
        for prefix, iri in query.prefixes
        if PREFIX_NAME.fullmatch(prefix) and _is_iri(iri)
    ]
    for window in query.windows:
        triples = Atom(QUAD, (*(Wildcard(window.span),) * 3, window.stream), window.span)
        directives.append(Expires(triples, window.after, window.every, window.span))
    helpers = {
        atom.predicate: len(atom.arguments)
        for rule in rules
        for atom in (*rule.heads, *rule.body)
        if isinstance(atom, Atom) and atom.predicate.startswith(f"{name}__")
    }
    if helpers:
        named = (PredicateIndicator(each, arity, beginning) for each, arity in helpers.items())
        directives.append(Hidden(tuple(named), beginning))

    def place(span: Span) -> Span:
        return query.select.span if span is NOWHERE else span

    located = tuple(placed(rule, place) for rule in rules)
    program = Program(source, text, tuple(directives), located)
    return ParsedText(program, (), complete=True, warnings=tuple(warnings))


def _is_iri(text: str) -> bool:
    try:
        canonical(f"<{text}>")
    except TermError:
        return False
    return True


def _refused(text: str, source: str, problems: tuple[Diagnostic, ...]) -> ParsedText:
    return ParsedText(Program(source, text, (), ()), problems, complete=False)


def _rules(query: Query, name: str, beginning: Span) -> tuple[list[Rule], list[Diagnostic]]:
    if _NAME.fullmatch(name) is None or name in TESTS or name in ARITIES:
        raise UnsupportedError(
            f"the answers cannot be facts of a predicate '{name}'",
            beginning,
            "a predicate has ASCII letters, digits and `_`, and begins with a letter",
        )
    book = Rulebook(name, sorted(_all_names(query)))
    patterns = Patterns(book, Dataset(query, book))
    columns = query.select.variables if query.form == "SELECT" else ()
    match query.form:
        case "SELECT" | "ASK":
            for body in patterns.solutions(query.select):
                arguments = [body.argument(book.variable(each.name)) for each in columns]
                book.derive(name, arguments, body.literals)
        case "CONSTRUCT":
            Construct(query, book).write(patterns.solutions(query.select))
        case _:
            raise UnsupportedError(
                "DESCRIBE leaves open what its answers are",
                query.select.span,
                "write a CONSTRUCT with the triples that you need",
            )
    answers = TRIPLE if query.form == "CONSTRUCT" else name
    warnings = [*patterns.warnings]
    if not any(head.predicate == answers for rule in book.rules for head in rule.heads):
        message = "the query has no answer, whatever the data"
        hint = "a condition that reads a variable that is unbound is never true"
        warnings.append(Diagnostic("SR509", message, query.select.span, hint))
        if answers == name:
            unbound = [Constant(UNBOUND, NOWHERE) for _ in columns]
            book.derive(name, unbound, (Atom(book.predicate("nothing"), (), NOWHERE),))
    return book.rules, warnings


def _all_names(query: Query) -> set[str]:
    """Every variable that the query names, in any of its parts."""
    found: set[str] = set()

    def visit(node: object) -> None:
        if isinstance(node, Variable):
            found.add(node.name)
        elif isinstance(node, tuple):
            for each in node:
                visit(each)
        elif is_dataclass(node):
            for each in fields(node):
                visit(getattr(node, each.name))

    visit((query.select, query.template))
    return found


class Construct:
    """Writes the triples of a template.

    Args:
        query: A CONSTRUCT.
        book: Takes the rules.
        given: Names in rules of variables that have their values before; fresh nodes depend on
            them, too.
    """

    def __init__(self, query: Query, book: Rulebook, given: Sequence[str] = ()) -> None:
        self._query, self._book = query, book
        names = (each for each in in_scope(query.select.pattern) if each not in query.blank_nodes)
        self._scope = [*dict.fromkeys((*given, *map(book.variable, names)))]

    def write(self, bodies: Sequence[Body]) -> None:
        """Add a rule for each body and triple; a triple that is none is left out (section 16.2)."""
        for body in bodies:
            for pattern in self._query.template:
                terms = (pattern.subject, pattern.predicate, pattern.object)
                names = [
                    self._book.variable(each.name)
                    for term in terms
                    for each in variables_of(term)
                    if each.name not in self._query.blank_nodes
                ]
                for part in body.split(names):
                    if all(name in part.bound for name in names):
                        self._triple(pattern, part)

    def _triple(self, pattern: TriplePattern, part: Body) -> None:
        subject, predicate, value = (
            self._argument(each, part)
            for each in (pattern.subject, pattern.predicate, pattern.object)
        )
        if isinstance(pattern.subject, TripleTerm) or not may_be(pattern.object):
            return
        if isinstance(subject, Constant) and not is_resource(subject.term):
            return
        tests: list[Literal] = []
        if isinstance(subject, Variable) and not _stands(part, subject.name, 0):
            tests += [
                Negation(Call(test, (subject,), NOWHERE), NOWHERE)
                for test in ("is_literal", "is_triple")
            ]
        if isinstance(predicate, Variable) and not _stands(part, predicate.name, 1):
            tests.append(Call("is_iri", (predicate,), NOWHERE))
        head = Atom(TRIPLE, (subject, predicate, value), NOWHERE)
        self._book.add((head,), (*part.literals, *tests))

    def _argument(self, term: object, body: Body) -> Expression:
        if isinstance(term, Variable) and term.name in self._query.blank_nodes:
            label = self._book.label(term.name)
            return Call("skolem", (label, *map(body.argument, self._scope)), NOWHERE)
        if isinstance(term, Variable):
            return Variable(self._book.variable(term.name), term.span)
        if isinstance(term, TripleTerm):
            parts = (self._argument(each, body) for each in term.parts)
            return triple_term(parts, term.span)
        assert isinstance(term, Constant)  # noqa: S101 - a template has no paths
        return term


def _stands(body: Body, name: str, position: int) -> bool:
    """Whether a variable stands at a position of a triple, so that it can stand there."""
    return any(
        isinstance(literal, Atom)
        and literal.predicate in ARITIES
        and literal.arguments[position] == Variable(name, NOWHERE)
        for literal in body.literals
    )
