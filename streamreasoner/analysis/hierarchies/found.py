"""The hierarchies that the copying rules of a program make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.analysis.hierarchies.copying import Copying, copying
from streamreasoner.analysis.hierarchies.hierarchy import Hierarchy
from streamreasoner.analysis.strata.unification import have_an_instance
from streamreasoner.lang import ast
from streamreasoner.lang.normal_form import is_lattice

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from streamreasoner.analysis.hierarchies.copying import Edges


def hierarchies_of(rules: Sequence[ast.Rule], predicates: Container[str]) -> Iterator[Hierarchy]:
    """The hierarchies of a program, by what their facts have in common.

    Facts are left out of which rules choose the best, or that edges are made of: the closure of a
    graph is not a hierarchy.

    Args:
        rules: The rules in normal form.
        predicates: The predicates of the facts of hierarchies.
    """
    kinds: dict[tuple[object, ...], dict[int, Copying]] = {}
    for index, rule in enumerate(rules):
        copied = copying(rule) if rule.head.predicate in predicates else None
        if copied is not None:
            kinds.setdefault(copied.key, {})[index] = copied
    for number, copies in enumerate(kinds.values()):
        first, *_ = copies.values()
        edges = tuple(each.edges for each in copies.values())
        made = Hierarchy(first.atom, first.position, edges, tuple(copies), number)
        if not _is_closure(made, rules) and not _is_chosen(made, rules):
            yield made


def _is_closure(hierarchy: Hierarchy, rules: Sequence[ast.Rule]) -> bool:
    """Whether edges are facts of the hierarchy, as where the facts are what edges lead to."""
    return any(
        _all_match(hierarchy.atom, each.atom)
        or any(_leads(rule, hierarchy, each) for rule in rules)
        for each in hierarchy.edges
    )


def _leads(rule: ast.Rule, hierarchy: Hierarchy, edges: Edges) -> bool:
    """Whether a rule makes facts of edges that lead to their class, or edges of such facts."""
    head, position = rule.head, hierarchy.position
    if have_an_instance(head, hierarchy.atom):
        ends = (edges.between(lower, head.arguments[position]) for lower in head.arguments)
        if any(edge in rule.body for edge in ends):
            return True
    if edges.atom.asserted or not _all_match(head, edges.atom):
        return False
    own = (each.arguments[position] for each in rule.atoms if _all_match(each, hierarchy.atom))
    ends_of = (head.arguments[edges.below], head.arguments[edges.above])
    return any(isinstance(each, ast.Variable) and each in ends_of for each in own)


def _all_match(atom: ast.Atom, other: ast.Atom) -> bool:
    """Whether what matches an atom matches another, of constants and distinct variables."""
    return (atom.predicate, atom.arity) == (other.predicate, other.arity) and all(
        two == one or isinstance(two, ast.Variable)
        for one, two in zip(atom.arguments, other.arguments, strict=True)
    )


def _is_chosen(hierarchy: Hierarchy, rules: Sequence[ast.Rule]) -> bool:
    """Whether rules choose the best of its facts, or of its edges."""
    atoms = (hierarchy.atom, *(each.atom for each in hierarchy.edges))
    heads = [rule.head for rule in rules if is_lattice(rule.head)]
    return any(have_an_instance(head, atom) for head in heads for atom in atoms)
