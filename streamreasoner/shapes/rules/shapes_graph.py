"""Queries that read the graph of the shapes. Invariant: they read facts that no other rule reads.

`$shapesGraph` is a graph of the query only: its quads are facts of a hidden predicate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, QUAD, Atom, Constant, Negation, Rule
from streamreasoner.rdf.triple_terms import renamed
from streamreasoner.shapes.graph import SHAPES_GRAPH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Literal
    from streamreasoner.shapes.graph import Graph

_PREDICATE = "shacl_shapes"


def known(term: str) -> Constant:
    """A term of the shapes as a constant; their blank nodes are not those of the data."""
    name = renamed(term, lambda node: f"<urn:streamreasoner:shapes:{node[2:]}>")
    return Constant(name, NOWHERE)


def reading_shapes(rule: Rule) -> Rule:
    """A rule that reads the facts of the shapes in place of the quads of their graph."""
    body = tuple(map(_of_shapes, rule.body))
    return rule if body == rule.body else replace(rule, body=body)


def reads_shapes(rule: Rule) -> bool:
    """Whether a rule reads the facts of the shapes."""
    atoms = (each.atom if isinstance(each, Negation) else each for each in rule.body)
    return any(isinstance(each, Atom) and each.predicate == _PREDICATE for each in atoms)


def facts_of_shapes(graph: Graph) -> Iterator[Rule]:
    """The triples of the shapes, as facts."""
    for subject, predicates in graph.triples.items():
        for predicate, values in predicates.items():
            for value in values:
                terms = tuple(map(known, (subject, predicate, value)))
                yield Rule((Atom(_PREDICATE, terms, NOWHERE),), (), NOWHERE)


def _of_shapes(literal: Literal) -> Literal:
    match literal:
        case Negation(Atom() as inner):
            return replace(literal, atom=_atom(inner))
        case Atom():
            return _atom(literal)
        case _:
            return literal


def _atom(atom: Atom) -> Atom:
    match atom.arguments:
        case (*terms, Constant(graph)) if atom.predicate == QUAD and graph == SHAPES_GRAPH:
            return replace(atom, predicate=_PREDICATE, arguments=tuple(terms))
        case _:
            return atom
