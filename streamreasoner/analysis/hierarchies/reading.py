"""The hierarchies of a program, and the classes at which its rules read copies.

What rules read is found by unification, as magic sets find it (Bancilhon et al.: Magic sets and
other strange ways to implement logic programs, PODS 1986), but at the class alone: those atoms of a
body that have no other variable of the atom that reads a copy tell at which classes it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamreasoner.analysis.hierarchies.found import hierarchies_of
from streamreasoner.analysis.hierarchies.hierarchy import CLASS, Hierarchy, rule_of
from streamreasoner.analysis.strata.unification import have_an_instance
from streamreasoner.lang import ast
from streamreasoner.lang.ast import NOWHERE
from streamreasoner.lang.traversal import atom_of, substituted, variables

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence
    from types import UnionType

    from streamreasoner.analysis.strata.guards import Guarded


def hierarchies(
    rules: Sequence[ast.Rule],
    guarded: Iterable[Guarded | None],
    predicates: Container[str],
) -> Iterator[tuple[Hierarchy, tuple[ast.Rule, ...]]]:
    """The hierarchies of a program, each with rules that derive the classes whose copies are read.

    Facts are left out of which rules read all copies.

    Args:
        rules: The rules in normal form.
        guarded: How the schema decides the negation of each stratum, if it does.
        predicates: The predicates of the facts of hierarchies.
    """
    rules = (*rules, *_rules_of_kinds(guarded))
    made: list[tuple[Hierarchy, tuple[ast.Rule, ...]]] = []
    for each in hierarchies_of(rules, predicates):
        numbered = replace(each, number=len(made))
        wanted = _wanted(numbered, rules)
        if wanted is not None:
            made.append((numbered, wanted))
    kinds = [hierarchy.atom for hierarchy, _ in made]
    for hierarchy, wanted in made:
        schema = _sources((atom for rule in wanted for atom in rule.atoms), rules, kinds)
        steps = _sources((each.atom for each in hierarchy.edges), rules, kinds)
        yield replace(hierarchy, schema=schema, steps=steps), wanted


def _sources(
    atoms: Iterable[ast.Atom], rules: Sequence[ast.Rule], kinds: Sequence[ast.Atom]
) -> tuple[ast.Atom, ...]:
    """What some atoms follow from, but what the facts of a hierarchy all match."""
    found: dict[ast.Atom, None] = {}
    waiting = [*atoms]
    while waiting:
        atom = _opened(waiting.pop(), ast.Constant)
        if atom in found or any(_covers(atom, kind) for kind in kinds):
            continue
        found[atom] = None
        for rule in rules:
            if have_an_instance(rule.head, atom):
                waiting += rule.atoms
    return tuple(found)


def _covers(atom: ast.Atom, kind: ast.Atom) -> bool:
    """Whether each fact that matches one atom matches another, of wildcards and constants."""
    return (atom.reads, atom.arity) == (kind.reads, kind.arity) and all(
        isinstance(one, ast.Wildcard) or one == other
        for one, other in zip(atom.arguments, kind.arguments, strict=True)
    )


def read_everywhere(
    hierarchy: Hierarchy, rules: Sequence[ast.Rule], guarded: Iterable[Guarded | None]
) -> tuple[int, ...]:
    """Indexes of the rules that read the copies at all classes, which keep it from being encoded.

    Args:
        hierarchy: A hierarchy.
        rules: As of `hierarchies`.
        guarded: As there.
    """
    of_kinds = _rules_of_kinds(guarded)
    sources = [*range(len(rules)), *of_kinds.values()]
    readings = _readings(hierarchy, (*rules, *of_kinds))
    found = (sources[index] for index, reading in readings if not reading.is_limited)
    return tuple(dict.fromkeys(found))


def _rules_of_kinds(guarded: Iterable[Guarded | None]) -> dict[ast.Rule, int]:
    """The rules over kinds of facts that read facts, with the rules that they are of."""
    found = [each for each in guarded if each is not None]
    return {
        rule: each.sources[rule] for each in found for rule in each.rules if rule in each.sources
    }


def _wanted(hierarchy: Hierarchy, rules: Sequence[ast.Rule]) -> tuple[ast.Rule, ...] | None:
    """Rules that derive the classes whose copies are read; None if a rule reads all of them."""
    readings = [reading for _, reading in _readings(hierarchy, rules)]
    if not all(each.is_limited for each in readings):
        return None
    return tuple(dict.fromkeys(rule for each in readings for rule in each.rules(hierarchy)))


def _readings(hierarchy: Hierarchy, rules: Sequence[ast.Rule]) -> Iterator[tuple[int, _Reading]]:
    """Each place that reads copies, with the index of its rule."""
    edges_of = dict(zip(hierarchy.rules, hierarchy.edges, strict=True))
    for index, rule in enumerate(rules):
        edges = edges_of.get(index)  # a copying rule reads the copies that it makes
        for place, literal in enumerate(rule.body):
            atom = atom_of(literal)
            is_copied = edges is not None and literal != edges.atom
            if atom is None or atom.asserted or is_copied:
                continue
            if have_an_instance(atom, hierarchy.atom):
                rest = (each for at, each in enumerate(rule.body) if at != place)
                atoms = (each for each in rest if isinstance(each, ast.Atom))
                yield index, _Reading.of(hierarchy, atom, atoms)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Where an atom of a body reads copies.

    Attributes:
        read: The class: a constant, or a variable.
        guards: Atoms of the body that hold if it does. None has a variable of what is copied.
        exists: Another atom, of which there is a fact if it does, where neither tells a class.
    """

    read: ast.Constant | ast.Variable
    guards: tuple[ast.Atom, ...]
    exists: ast.Atom | None

    @classmethod
    def of(cls, hierarchy: Hierarchy, atom: ast.Atom, rest: Iterator[ast.Atom]) -> _Reading:
        """That of an atom, given the other atoms of its body.

        An atom that reads `[?x, ?p, ?c]` reads copies of `[?x, a, ?c]` where ?p is `a`.
        """
        position = hierarchy.position
        pairs = [*zip(atom.arguments, hierarchy.atom.arguments, strict=True)]
        terms: dict[str, ast.Expression] = {
            given.name: own
            for at, (given, own) in enumerate(pairs)
            if at != position and isinstance(given, ast.Variable) and isinstance(own, ast.Constant)
        }
        own = {
            each.name
            for at, (given, _) in enumerate(pairs)
            if at != position
            for each in variables(substituted(given, terms))
        }
        read = substituted(atom.arguments[position], terms)
        if not isinstance(read, ast.Variable | ast.Constant):
            own.update(each.name for each in variables(read))
            read = CLASS
        atoms = [(substituted(each, terms), each) for each in map(_plain, rest)]
        free = [pair for pair in atoms if own.isdisjoint(_names(pair[0]))]
        changed = [each for each, before in free if each != before]
        guards = _connected(changed, {*_names(read)} - own, [each for each, _ in free])
        others = (each for each, _ in atoms if each.predicate != atom.predicate)
        is_told = guards or isinstance(read, ast.Constant)
        return cls(read, guards, None if is_told else next(others, None))

    @property
    def is_limited(self) -> bool:
        """Whether it may be that nothing, or not every class, is read."""
        return bool(self.guards) or self.exists is not None or isinstance(self.read, ast.Constant)

    def rules(self, hierarchy: Hierarchy) -> Iterator[ast.Rule]:
        """Rules that derive the classes that are read, of those that have classes below them."""
        body = self.guards
        if self.exists is not None:
            exists = _opened(self.exists, ast.Constant)
            name = ast.Constant(f'"{exists.reads}"', NOWHERE)
            yield rule_of(hierarchy.exists, name, (exists,))
            body = (ast.Atom(hierarchy.exists, (name,), NOWHERE),)
        for each in dict.fromkeys(hierarchy.edges):
            edge = each.between(ast.Wildcard(NOWHERE), self.read)
            yield rule_of(hierarchy.wanted, self.read, (*body, edge))


def _plain(atom: ast.Atom) -> ast.Atom:
    """An atom without what is computed, or taken apart: it holds wherever the atom does."""
    return _opened(atom, ast.Constant | ast.Variable)


def _opened(atom: ast.Atom, kept: type | UnionType) -> ast.Atom:
    arguments = (
        each if isinstance(each, kept) else ast.Wildcard(NOWHERE) for each in atom.arguments
    )
    return replace(atom, arguments=tuple(arguments))


def _connected(
    chosen: Sequence[ast.Atom], names: set[str], atoms: Sequence[ast.Atom]
) -> tuple[ast.Atom, ...]:
    """The chosen atoms, and those that share variables with names, with these, and so on."""
    found = dict.fromkeys(chosen)
    names = names.union(*map(_names, chosen))
    while more := [
        each for each in atoms if each not in found and not names.isdisjoint(_names(each))
    ]:
        found.update(dict.fromkeys(more))
        names = names.union(*map(_names, more))
    return tuple(found)


def _names(node: ast.Expression | ast.Literal) -> set[str]:
    return {each.name for each in variables(node)}
