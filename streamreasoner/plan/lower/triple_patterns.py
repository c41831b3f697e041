"""Patterns of triple terms in bodies, as plain atoms. Invariant: the matches stay the same.

`[?b, rdf:reifies, <<( ?s ex:p ?o )>>], age(?s, ?a)` becomes

    [?b, rdf:reifies, ?t], parts#1f(?t, ?s, ex:p, ?o), age(?s, ?a)
    parts#1f(?t, subject(?t), predicate(?t), object(?t)) :- [_, rdf:reifies, ?t] .

so that a join looks terms up by their parts. An atom that is alone in its body needs no index: it
takes its terms apart by itself. A negated atom becomes the negation of what matches it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.printer import digest, print_rule
from streamreasoner.lang.traversal import has_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def negated_patterns(rules: Iterable[ast.Rule]) -> dict[str, int]:
    """The predicates that stand for negated atoms with patterns, and their numbers of arguments."""
    patterns = TriplePatterns()
    negations = (each for rule in rules for each in rule.body if isinstance(each, ast.Negation))
    atoms = (each for each in map(traversal.atom_of, negations) if each is not None)
    found = (patterns.negated(atom) for atom in atoms if has_pattern(atom))
    return {atom.predicate: atom.arity for atom in found}


@dataclass(slots=True)
class TriplePatterns:
    """Replaces the patterns of the rules of a program.

    Attributes:
        helpers: The rules of hidden predicates that were added for the last rule, each before those
            that read what it derives.
    """

    helpers: list[ast.Rule] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)

    def plain(self, rule: ast.Rule) -> ast.Rule:
        """A rule in normal form without patterns."""
        self.helpers = []
        return self._plain(rule)

    def _plain(self, rule: ast.Rule) -> ast.Rule:
        atoms = [each for each in map(traversal.atom_of, rule.body) if each is not None]
        if not any(map(has_pattern, atoms)):
            return rule
        # No text can have a name with a dot.
        names = traversal.unused_names(map("term.{}".format, count(1)), rule)
        opened: list[ast.Literal] = []
        body: list[ast.Literal] = []
        for literal in rule.body:
            match literal:
                case ast.Atom() if has_pattern(literal) and len(atoms) == 1:
                    atom, patterns = _without_patterns(literal, names)
                    body.append(atom)
                    bound = {e.name for e in atom.arguments if isinstance(e, ast.Variable)}
                    for variable, pattern in patterns.values():
                        opened += _taken_apart(variable, pattern, bound, names)
                case ast.Atom() if has_pattern(literal):
                    body += self._joined(literal, names)
                case ast.Negation(ast.Atom() as atom):
                    body.append(replace(literal, atom=self.negated(atom)))
                case _:
                    body.append(literal)
        # First, so that no equality of the text binds what a pattern binds.
        return replace(rule, body=(*opened, *body))

    def _joined(self, atom: ast.Atom, names: Iterator[str]) -> Iterator[ast.Atom]:
        """An atom, and one for the parts of each of its triple terms."""
        plain, patterns = _without_patterns(atom, names)
        yield plain
        for position, (variable, pattern) in patterns.items():
            parts = replace(
                plain,
                predicate=self._parts(plain, position, variable),
                arguments=(variable, *pattern.parts),
                asserted=False,
            )
            yield from self._joined(parts, names)

    def _parts(self, atom: ast.Atom, position: int, term: ast.Variable) -> str:
        """The predicate of the terms at a position of facts like an atom, and of their parts."""
        term = replace(term, name="t")
        arguments: list[ast.Expression] = [
            each if isinstance(each, ast.Constant) else ast.Wildcard(each.span)
            for each in atom.arguments
        ]
        arguments[position] = term
        body = replace(atom, arguments=tuple(arguments))
        calls = (ast.Call(name, (term,), term.span) for name in ast.TRIPLE_PARTS)
        return self._derived("parts", (term, *calls), body)

    def negated(self, atom: ast.Atom) -> ast.Atom:
        """An atom to negate: one with patterns becomes one of what makes it match."""
        if not has_pattern(atom):
            return atom
        arguments: list[ast.Expression] = []
        given: dict[ast.Variable, ast.Expression] = {}
        for position, argument in enumerate(atom.arguments):
            column = argument
            match argument:
                case ast.Constant() | ast.Wildcard():
                    pass
                case ast.TripleTerm():
                    given |= {each: each for each in traversal.variables(argument)}
                case ast.Variable():
                    given[argument] = argument
                case _:
                    column = ast.Variable(f"argument.{position}", argument.span)
                    given[column] = argument
            arguments.append(column)
        body = replace(atom, arguments=tuple(arguments))
        return replace(
            atom,
            predicate=self._derived("match", tuple(given), body),
            arguments=tuple(given.values()),
            asserted=False,
        )

    def _derived(self, name: str, arguments: tuple[ast.Expression, ...], body: ast.Atom) -> str:
        """The predicate of a helper, which its own text names."""
        rule = ast.Rule((ast.Atom(name, arguments, body.span),), (body,), body.span)
        predicate = f"{name}#{digest(print_rule(rule))}"
        if predicate not in self._known:
            self._known.add(predicate)
            head = replace(rule.head, predicate=predicate)
            self.helpers.append(self._plain(replace(rule, heads=(head,))))
        return predicate


def _without_patterns(
    atom: ast.Atom, names: Iterator[str]
) -> tuple[ast.Atom, dict[int, tuple[ast.Variable, ast.TripleTerm]]]:
    """An atom with a variable for each pattern, and both by their positions."""
    patterns = {
        position: (ast.Variable(next(names), argument.span), argument)
        for position, argument in enumerate(atom.arguments)
        if isinstance(argument, ast.TripleTerm)
    }
    arguments = (
        patterns[position][0] if position in patterns else argument
        for position, argument in enumerate(atom.arguments)
    )
    return replace(atom, arguments=tuple(arguments)), patterns


def _taken_apart(
    term: ast.Variable, pattern: ast.TripleTerm, bound: set[str], names: Iterator[str]
) -> Iterator[ast.Literal]:
    """Literals that compare a term with a pattern, and bind the variables in it."""
    if all(isinstance(part, ast.Wildcard) for part in pattern.parts):
        yield ast.Call("is_triple", (term,), term.span)
    for name, part in zip(ast.TRIPLE_PARTS, pattern.parts, strict=True):
        value = ast.Call(name, (term,), part.span)
        match part:
            case ast.Wildcard():
                pass
            case ast.Variable() if part.name not in bound:
                bound.add(part.name)
                yield ast.Comparison(part, "=", value, part.span)
            case ast.TripleTerm():
                inner = ast.Variable(next(names), part.span)
                yield ast.Comparison(inner, "=", value, part.span)
                yield from _taken_apart(inner, part, bound, names)
            case _:
                yield ast.Call("same_term", (value, part), part.span)
