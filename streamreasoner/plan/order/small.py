"""Atoms that few facts match. Invariant: the program alone decides, so a replay has the same plans.

The facts of a schema are few compared with the data that it describes: triples whose predicate, or
class, is of the vocabularies RDFS and OWL, and the facts of predicates that are derived from such
alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang import ast
from streamreasoner.plan.operands import Pattern, Value
from streamreasoner.rdf.vocabulary import RDF_TYPE, SCHEMA_CLASSES, SCHEMA_PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROPERTIES = frozenset(f"<{iri}>" for iri in SCHEMA_PROPERTIES)
_CLASSES = frozenset(f"<{iri}>" for iri in SCHEMA_CLASSES)


def small_predicates(rules: Iterable[ast.Rule]) -> frozenset[str]:
    """The predicates derived from atoms that few facts match, and from nothing else.

    A predicate that only has facts is of the input, so nothing is known of its size. Nor is it of
    one whose rules all read itself: the facts that they begin with are of the input.
    """
    bodies = {(rule.head.predicate, rule.atoms) for rule in rules if rule.body}
    small = _founded(bodies)
    size = -1
    while size != len(small):
        size = len(small)
        known = frozenset(small)
        small -= {
            predicate
            for predicate, atoms in bodies
            if not all(is_small(_pattern(atom), known) for atom in atoms)
        }
    return frozenset(small)


def _founded(bodies: Iterable[tuple[str, tuple[ast.Atom, ...]]]) -> set[str]:
    """The predicates that have some facts if only atoms that few facts match have any."""
    found: set[str] = set()
    size = -1
    while size != len(found):
        size = len(found)
        known = frozenset(found)
        found |= {
            predicate
            for predicate, atoms in bodies
            if predicate not in {ast.TRIPLE, ast.QUAD}
            and all(is_small(_pattern(atom), known) for atom in atoms)
        }
    return found


def is_small(pattern: Pattern, predicates: frozenset[str]) -> bool:
    """Whether few facts match, given the predicates with few facts."""
    match pattern.predicate.removeprefix(ast.GIVEN), pattern.arguments:
        case ((ast.TRIPLE | ast.QUAD), (_, Value(predicate), object_, *_)):
            if isinstance(object_, Value) and predicate == f"<{RDF_TYPE}>":
                return object_.term in _CLASSES
            return predicate in _PROPERTIES
        case predicate, _:
            return predicate in predicates


def _pattern(atom: ast.Atom) -> Pattern:
    constants = (
        Value(each.term) if isinstance(each, ast.Constant) else None for each in atom.arguments
    )
    return Pattern(atom.reads, tuple(constants))
