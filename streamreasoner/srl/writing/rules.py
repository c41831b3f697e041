"""Rules as a rule set. Invariant: the rule set derives the same facts, or there is none.

A body is written in the order that makes it well-formed: patterns, assignments, conditions, NOT. An
inequality is `NOT { FILTER (?x = ?y) }`, as rules tell terms apart that SPARQL cannot compare.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.told_apart import is_static
from streamreasoner.lang import ast, traversal
from streamreasoner.lang.binding import bindings, bound_by_atoms, definitions
from streamreasoner.lang.diagnostic import Diagnostic, refuse
from streamreasoner.lang.normal_form import normal_form
from streamreasoner.rdf.iris import is_absolute
from streamreasoner.sparql.rules.rulebook import UnsupportedError
from streamreasoner.srl.compile import compile_rule_set
from streamreasoner.srl.writing.expressions import (
    Expressions,
    names_of,
    tells_apart,
    unsaid,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SAID = ast.Prefix | ast.Base | ast.Import | ast.Hidden
"""Directives that say nothing of triples once files are one text."""
_SAME_TERM = "ask for the same term: `not same_term(?x, ?y)`"
_ALONE = "negate a conjunction of atoms and conditions; derive what is nested in a rule of its own"


def rule_set_text(programs: Sequence[ast.Program], prefixes: Mapping[str, str]) -> str:
    """The rules and facts of all files of a program as a rule set.

    Raises:
        ProgramError: SPARQL-RL cannot say them; with the place of what it cannot say.
    """
    texts = {program.source: program.text for program in programs}
    lines = [f"PREFIX {name}: <{iri}>" for name, iri in prefixes.items()]
    places: dict[int, ast.Span] = {}
    try:
        for text, span in _statements(programs, prefixes):
            # A rule that is written twice makes its nodes once.
            if text not in lines:
                lines.append(text)
                places[len(lines)] = span
    except UnsupportedError as error:
        raise refuse([Diagnostic("SR273", str(error), error.span, error.hint)], texts) from None
    text = "".join(f"{line}\n" for line in lines)
    problems = [
        Diagnostic("SR273", f"in SPARQL-RL, {each.message}", places[each.span.line], _help(each))
        for each in compile_rule_set(text, "rules.srl").diagnostics
    ]
    if problems:
        raise refuse(dict.fromkeys(problems), texts)
    return text


def _help(problem: Diagnostic) -> str | None:
    """What to do, without lines of the text that there is not."""
    return problem.help and problem.help.partition(": the rule of")[0]


def _statements(
    programs: Sequence[ast.Program], prefixes: Mapping[str, str]
) -> Iterator[tuple[str, ast.Span]]:
    for program in programs:
        for directive in program.directives:
            if not isinstance(directive, _SAID):
                raise unsaid("this directive", directive.span, "leave it to the rule language")
    rules = [
        rule
        for program in programs
        for rule in program.rules
        # A rule set asks for its strata by itself.
        if rule.body or not all(map(is_static, rule.heads))
    ]
    has_facts = any(not rule.body for rule in rules)
    for rule in rules:
        # The heads that share new nodes are one rule.
        together = _makes_nodes(rule)
        for part in normal_form(replace(rule, heads=rule.heads[:1]) if together else rule):
            written = replace(part, heads=rule.heads) if together else part
            yield _Writer(written, prefixes, has_facts=has_facts).text(), rule.span


class _Writer:
    """Writes one rule in normal form.

    Args:
        rule: The rule.
        prefixes: Prefixes to shorten IRIs by.
        has_facts: Whether the program states facts, which rules may ask for as asserted.
    """

    def __init__(self, rule: ast.Rule, prefixes: Mapping[str, str], *, has_facts: bool) -> None:
        self._rule, self._has_facts = rule, has_facts
        taken = names_of(rule)
        self._fresh = (name for name in (f"_{n}" for n in count(1)) if name not in taken)
        self._say = Expressions(prefixes, lambda: next(self._fresh))

    def text(self) -> str:
        """The rule, on one line."""
        rule = self._rule
        found = bindings(rule)
        of_data = self._reads_data(rule.atoms)
        body = [self._triple(each) for each in rule.atoms]
        body += (f"SET(?{name} := {self._say.value(value)})" for name, value in found.assignments)
        sets, head = self._heads()
        conditions = [each for each in found.filters if not _is_negation(each)]
        body += sets
        body += map(self._condition, conditions)
        body += (
            self._absent(each, of_data=of_data) for each in found.filters if _is_negation(each)
        )
        if not rule.body and not sets:
            return f"DATA {{ {head} }}"
        where = "WHERE DATA" if of_data else "WHERE"
        return f"RULE {self._name()}{{ {head} }} {where} {{ {' '.join(body)} }}"

    def _name(self) -> str:
        name = self._rule.name
        if name is None or not is_absolute(name) or set(name) & set(' <>"{}|^`\\'):
            return ""
        return f"<{name}> "

    def _heads(self) -> tuple[list[str], str]:
        """Assignments of what the heads compute, and their triples."""
        sets: list[str] = []
        if _makes_nodes(self._rule):
            for wildcard in (each for atom in self._rule.atoms for each in traversal.walk(atom)):
                if isinstance(wildcard, ast.Wildcard):
                    hint = "name it: each of its terms makes a node"
                    raise unsaid("`_` in a rule that makes nodes", wildcard.span, hint)
        triples = [self._head(head, sets) for head in self._rule.heads]
        if sets and len(triples) > 1:
            hint = "write the head that computes in a rule of its own"
            raise unsaid("values of one head next to another", self._rule.span, hint)
        return sets, " . ".join(triples)

    def _head(self, head: ast.Atom, sets: list[str]) -> str:
        self._of_triples(head)
        parts = []
        for argument in head.arguments:
            if isinstance(argument, ast.Constant | ast.Variable | ast.TripleTerm) or (
                isinstance(argument, ast.Call) and argument.function == ast.NEW_NODE
            ):
                parts.append(self._say.term(argument))
                continue
            name = next(self._fresh)
            sets.append(f"SET(?{name} := {self._say.value(argument)})")
            parts.append(f"?{name}")
        verb = head.arguments[1]
        if isinstance(verb, ast.Variable) and not self._is_iri(verb):
            what = f"triples whose predicate is not an IRI, as ?{verb.name} may not be"
            raise unsaid(what, verb.span, f"add `is_iri(?{verb.name})` to the body")
        return " ".join(parts)

    def _is_iri(self, verb: ast.Variable) -> bool:
        return any(
            (isinstance(each, ast.Atom) and each.arguments[1:2] == (verb,))
            or (isinstance(each, ast.Call) and each == ast.Call("is_iri", (verb,), each.span))
            for each in self._rule.body
        )

    def _of_triples(self, atom: ast.Atom) -> None:
        if atom.predicate != ast.TRIPLE:
            what = "quads" if atom.predicate == ast.QUAD else f"the predicate `{atom.predicate}`"
            raise unsaid(what, atom.span, "write it as triples: `[?x, ex:name, ?y]`")
        if atom.violation:
            raise unsaid("constraints", atom.span)

    def _triple(self, atom: ast.Atom) -> str:
        self._of_triples(atom)
        return " ".join(map(self._say.term, atom.arguments)) + " ."

    def _reads_data(self, atoms: Sequence[ast.Atom]) -> bool:
        """Whether atoms, which have to agree, are of asserted facts alone."""
        for atom in atoms:
            if atom.asserted and self._has_facts:
                hint = "the facts of DATA are not asserted: let the input bring them"
                raise unsaid("asserted facts that the program states", atom.span, hint)
        kinds = {atom.asserted for atom in atoms}
        if len(kinds) > 1:
            which = next(atom for atom in atoms if atom.asserted)
            raise unsaid("asserted facts next to others in one conjunction", which.span)
        return any(kinds)

    def _condition(self, literal: ast.Literal) -> str:
        match literal:
            case ast.Comparison(left, "!=", right) if not tells_apart(literal):
                return f"NOT {{ FILTER({self._say.value(left)} = {self._say.value(right)}) }}"
            case _:
                return self._filter(literal)

    def _filter(self, literal: ast.Literal) -> str:
        match literal:
            case ast.Comparison(left, operator, right):
                if operator == "!=" and not tells_apart(literal):
                    raise unsaid("`!=` of unknown terms in a negation", literal.span, _SAME_TERM)
                return f"FILTER({self._say.value(left)} {operator} {self._say.value(right)})"
            case ast.Call():
                return f"FILTER({self._say.test(literal)})"
            case ast.Negation(ast.Call() as call):
                return f"FILTER(!{self._say.test(call)})"
            case _:
                raise unsaid("this in a body", literal.span, _ALONE)

    def _absent(self, literal: ast.Literal, *, of_data: bool) -> str:
        match literal:
            case ast.Negation(ast.Atom() as atom):
                body: tuple[ast.Literal, ...] = (atom,)
            case ast.NegatedBody():
                body = literal.body
            case _:
                raise AssertionError(literal)
        atoms = [each for each in body if isinstance(each, ast.Atom)]
        bound = self._bound_with(atoms)
        others = [each for each in body if not isinstance(each, ast.Atom)]
        for each in others:
            if any(definitions(each, bound)):
                raise unsaid("assignments in a negation", each.span, _ALONE)
        reads_data = self._reads_data(atoms)
        if atoms and of_data and not reads_data:
            raise unsaid("a negation of all facts next to asserted facts", literal.span)
        parts = [*map(self._triple, atoms), *map(self._filter, others)]
        mark = "DATA " if reads_data and not of_data else ""
        return f"NOT {mark}{{ {' '.join(parts)} }}"

    def _bound_with(self, atoms: Sequence[ast.Atom]) -> set[str]:
        """The variables that a negation may read: those bound outside, and by its atoms."""
        found = bindings(self._rule)
        inner = bound_by_atoms(ast.Rule((self._rule.head,), tuple(atoms), self._rule.span))
        return {*bound_by_atoms(self._rule), *inner, *(name for name, _ in found.assignments)}


def _makes_nodes(rule: ast.Rule) -> bool:
    return any(node for head in rule.heads for node in traversal.new_nodes(head))


def _is_negation(literal: ast.Literal) -> bool:
    return isinstance(literal, ast.NegatedBody) or (
        isinstance(literal, ast.Negation) and isinstance(literal.atom, ast.Atom)
    )
