"""Rules that copy facts along a hierarchy: one argument is replaced, and the others stay.

[?x, a, ?c] :- [?x, a, ?b], [?b, rdfs:subClassOf, ?c]
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

from streamreasoner.lang import ast
from streamreasoner.lang.ast import NOWHERE


@dataclass(frozen=True, slots=True)
class Edges:
    """The facts that lead from a class to the one above it.

    Attributes:
        atom: An atom that they match: constants, and two variables.
        below: The position of the lower class.
        above: The position of the higher one.
    """

    atom: ast.Atom
    below: int
    above: int

    def between(self, below: ast.Expression, above: ast.Expression) -> ast.Atom:
        """The atom of the edges between two terms."""
        arguments = list(self.atom.arguments)
        arguments[self.below], arguments[self.above] = below, above
        return ast.Atom(self.atom.predicate, tuple(arguments), NOWHERE, asserted=self.atom.asserted)


@dataclass(frozen=True, slots=True)
class Copying:
    """What a copying rule does.

    Attributes:
        atom: The atom that it copies: constants, and distinct variables.
        position: The position of the class; its argument is a variable.
        edges: What leads to the class of the copy.
    """

    atom: ast.Atom
    position: int
    edges: Edges

    @property
    def key(self) -> tuple[object, ...]:
        """What the facts have in common that it copies and makes."""
        each = (arg if isinstance(arg, ast.Constant) else None for arg in self.atom.arguments)
        return self.atom.predicate, self.position, *each


def copying(rule: ast.Rule) -> Copying | None:
    """What a rule copies; None if it does anything else."""
    head = rule.head
    if len(rule.body) != 2 or head.violation:  # noqa: PLR2004 - a fact and an edge
        return None
    for own, edge in permutations(rule.body):
        if isinstance(own, ast.Atom) and isinstance(edge, ast.Atom):
            position = _replaced(head, own)
            edges = None if position is None else _edges(edge, own, head, position)
            if position is not None and edges is not None:
                return Copying(own, position, edges)
    return None


def _replaced(head: ast.Atom, own: ast.Atom) -> int | None:
    """The position at which two atoms that are equal otherwise have two variables."""
    if own.asserted or (own.predicate, own.arity) != (head.predicate, head.arity):
        return None
    pairs = [*zip(own.arguments, head.arguments, strict=True)]
    differing = [at for at, (one, two) in enumerate(pairs) if one != two]
    names = [each.name for each in own.arguments if isinstance(each, ast.Variable)]
    plain = all(isinstance(each, ast.Variable | ast.Constant) for pair in pairs for each in pair)
    if len(differing) != 1 or not plain or len({*names}) != len(names):
        return None
    below, above = pairs[differing[0]]
    if not isinstance(below, ast.Variable) or not isinstance(above, ast.Variable):
        return None
    return None if above.name in names else differing[0]


def _edges(edge: ast.Atom, own: ast.Atom, head: ast.Atom, position: int) -> Edges | None:
    """The edges that a rule copies along, if nothing else of the fact matters for them."""
    ends = own.arguments[position], head.arguments[position]
    others = [each for each in edge.arguments if each not in ends]
    if sorted(map(edge.arguments.count, ends)) != [1, 1]:
        return None
    if not all(isinstance(each, ast.Constant) for each in others):
        return None
    return Edges(edge, *map(edge.arguments.index, ends))
