"""Rules about kinds of facts, from rules about facts. Invariant: a kind is never too small.

What a rule derives from a kind of facts is a kind, too: of the predicate, and of the class or
constant object, that the fact or the rule's guides bind; of any where they do not.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.dependency import Through, unifies
from streamreasoner.analysis.strata.derive import derive
from streamreasoner.analysis.strata.guards import (
    ANY,
    ANYTHING,
    MOST_GUARDS,
    Guarded,
    is_bound,
    is_flow,
    pattern,
)
from streamreasoner.lang.ast import ARITIES, NOWHERE, Atom, Call, Constant, Negation, Rule, Variable
from streamreasoner.lang.constants import RDF_TYPE
from streamreasoner.lang.printer import print_literal
from streamreasoner.lang.traversal import variables
from streamreasoner.rdf.terms import to_ntriples

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from streamreasoner.analysis.strata.dependency import Dependency
    from streamreasoner.lang.ast import Expression

_GUARD = Variable("@guard", NOWHERE)
_TYPE = Constant(RDF_TYPE, NOWHERE)


def guarded(
    rules: Sequence[Rule], stratum: Sequence[int], graph: Sequence[Sequence[Dependency]]
) -> Guarded | None:
    """How the schema decides the negation inside a stratum; None if it cannot, or need not.

    Args:
        rules: The rules of a program in normal form.
        stratum: Indexes of mutually dependent rules.
        graph: The dependencies of each rule.
    """
    members = frozenset(stratum)
    inside = [
        (index, edge.through, edge.atom)
        for index in stratum
        for edge in graph[index]
        if edge.on in members
    ]
    negated = [(index, atom) for index, how, atom in inside if how is Through.NEGATION]
    heads = [rules[index].head for index in stratum]
    open_heads = [head for head in heads if _kinds(head)]
    if not negated or not open_heads:
        return None
    guards = {
        atom: Constant(to_ntriples(print_literal(atom)), NOWHERE)
        for atom in sorted({pattern(atom) for _, atom in negated}, key=print_literal)
    }
    # Where equal heads are one node of the graph, an edge may lead to the first of them only.
    read = dict.fromkeys((index, atom) for index, how, atom in inside if how is Through.ATOM)
    names = Guarded(_tag(open_heads), guards)
    if len(guards) > MOST_GUARDS:
        # Refused, so its flows are not asked for.
        return names
    unknown: frozenset[Atom] = frozenset()
    while True:
        made = _Flows(rules, heads, names, unknown)
        for index, atom in dict.fromkeys(negated):
            made.begin(index, guards[pattern(atom)])
        for index, atom in read:
            made.follow(index, atom)
        result = made.result()
        known = derive(result.rules, result.facts)
        # Guides that depend on negation whatever the facts are.
        reached = frozenset(
            guide for guide in result.guides if any(result.reaches(each, guide) for each in known)
        )
        if not reached:
            return result
        unknown |= reached


class _Flows:
    """Rules about kinds of facts, in the making."""

    def __init__(
        self,
        rules: Sequence[Rule],
        heads: Sequence[Atom],
        names: Guarded,
        unknown: frozenset[Atom],
    ) -> None:
        self._rules = rules
        self._heads = heads
        self._names = names
        self._unknown = unknown
        self._guides: dict[Atom, None] = {}
        self._made: dict[Rule | Atom, tuple[int, Atom | None]] = {}

    def begin(self, index: int, guard: Constant) -> None:
        """What a rule that negates a guard derives."""
        rule = self._rules[index]
        guides = self._guides_of(rule, None)
        self._add(self._kind(rule.head, guard, frozenset(), guides), guides, index)

    def follow(self, index: int, atom: Atom) -> None:
        """What a rule derives from an atom of the stratum.

        If it keeps the predicate but not the object, classes are followed apart: guides tell which.
        """
        rule = self._rules[index]
        verb = _kept(rule.head, atom)
        if verb is None:
            self._follow(index, rule, atom)
        else:
            typed = Rule(
                (_typed(rule.head, verb),), tuple(_typed(e, verb) for e in rule.atoms), rule.span
            )
            self._follow(index, typed, _typed(atom, verb))
            self._follow(
                index, rule, atom, Negation(Call("same_term", (verb, _TYPE), NOWHERE), NOWHERE)
            )

    def _follow(self, index: int, rule: Rule, atom: Atom, *but: Negation) -> None:
        guides = self._guides_of(rule, atom)
        for flow in self._names.flows_to(atom, _GUARD, _variables(guides)):
            head = self._kind(rule.head, _GUARD, _variables((flow,)), guides)
            self._add(head, (flow, *guides, *but), index, pattern(atom))

    def result(self) -> Guarded:
        """The rules, with those about guards."""
        tag, guards, guides = self._names.tag, self._names.guards, tuple(self._guides)
        bare = Guarded(tag, guards, guides=guides)
        # What flows into a guide is refused, so it need not be followed from there.
        ends = {pattern(guide) for guide in guides}
        made = {each: index for each, (index, through) in self._made.items() if through not in ends}
        rules = (*(each for each in made if isinstance(each, Rule)), *bare.order())
        facts = (*(each for each in made if isinstance(each, Atom)), *bare.beginnings())
        return Guarded(tag, guards, _derivable(rules, facts), facts, guides, made)

    def _guides_of(self, rule: Rule, skipped: Atom | None) -> tuple[Atom, ...]:
        """Atoms of a body that bind the kind of its head, or restrict that of an atom.

        Of several that bind a variable it is one with the fewest variables, the first of those, and
        the class of something only if there is no other: these hold schema rather than data.
        """
        wanted = _kinds(rule.head) | (_kinds(skipped) if skipped else set())
        atoms = [_bare(each) for each in rule.atoms if each != skipped and self._is_guide(each)]
        found: list[Atom] = []
        for atom in sorted(dict.fromkeys(atoms), key=_generality):
            if wanted & _variables((atom,)):
                wanted -= _variables((atom,))
                found.append(atom)
        self._guides |= dict.fromkeys(each for each in found if self._is_inside(each))
        return tuple(found)

    def _is_guide(self, atom: Atom) -> bool:
        is_known = atom.predicate not in ARITIES or isinstance(atom.arguments[1], Constant)
        return atom.asserted or (is_known and _bare(atom) not in self._unknown)

    def _is_inside(self, atom: Atom) -> bool:
        return not atom.asserted and any(unifies(atom, head) for head in self._heads)

    def _kind(
        self, head: Atom, guard: Expression, bound: Collection[str], guides: Sequence[Atom]
    ) -> Atom:
        """The kind of the facts of a head, as far as it is known."""
        if head.predicate not in ARITIES:
            return self._names.flow(head.predicate, guard)
        verb, other = head.arguments[1:3]
        guided = _variables(guides)
        if not is_bound(verb, {*bound, *guided}):
            return self._names.flow(head.predicate, guard, ANY, ANY)
        known = {*bound, *(guided if _kinds(head) else ())}
        return self._names.flow(
            head.predicate, guard, verb, other if is_bound(other, known) else ANY
        )

    def _add(
        self, head: Atom, body: tuple[Atom | Negation, ...], index: int, through: Atom | None = None
    ) -> None:
        made = Rule((head,), body, self._rules[index].span) if body else head
        if head not in body:
            self._made.setdefault(made, (index, through))


def _tag(open_heads: Sequence[Atom]) -> str:
    """A name by predicate and constants of the most general head: no other stratum has it."""
    shapes: list[tuple[int, str, list[tuple[int, str]]]] = []
    for head in open_heads:
        places = enumerate(head.arguments)
        constants = [(at, each.term) for at, each in places if isinstance(each, Constant)]
        shapes.append((len(constants), head.predicate, constants))
    count, predicate, constants = min(shapes)
    digest = sha256(repr(constants).encode()).hexdigest()[:8]
    return f"{predicate}.{digest}" if count else predicate


def _kinds(atom: Atom) -> set[str]:
    """The variables that decide the kind of a fact: of the predicate, and of the class if typed."""
    if atom.predicate not in ARITIES:
        return set()
    verb, other = atom.arguments[1:3]
    is_class = isinstance(verb, Constant) and verb.term == RDF_TYPE
    chosen = (verb, other) if is_class else (verb,)
    return {each.name for each in chosen if isinstance(each, Variable)}


def _generality(atom: Atom) -> tuple[bool, int]:
    return bool(_kinds(atom)), len(_variables((atom,)))


def _derivable(rules: tuple[Rule, ...], facts: tuple[Atom, ...]) -> tuple[Rule, ...]:
    """The rules without those that read kinds which nothing derives: no plan would know them."""
    while True:
        derived = {each.predicate for each in facts} | {rule.head.predicate for rule in rules}
        kept = tuple(
            r for r in rules if all(each.predicate in derived for each in r.atoms if is_flow(each))
        )
        if len(kept) == len(rules):
            return kept
        rules = kept


def _kept(head: Atom, atom: Atom) -> Variable | None:
    """The variable that is the predicate of both, if they differ in their objects."""
    if head.predicate not in ARITIES or atom.predicate not in ARITIES:
        return None
    verb, other = head.arguments[1:3]
    if isinstance(verb, Variable) and verb == atom.arguments[1] and other != atom.arguments[2]:
        return verb
    return None


def _typed(atom: Atom, verb: Variable) -> Atom:
    """An atom with rdf:type in the place of a variable."""
    arguments = (_TYPE if each == verb else each for each in atom.arguments)
    return replace(atom, arguments=tuple(arguments))


def _bare(atom: Atom) -> Atom:
    """An atom whose expressions, which bind nothing, may be anything."""
    arguments = (
        each if isinstance(each, Constant | Variable) else ANYTHING for each in atom.arguments
    )
    return Atom(atom.predicate, tuple(arguments), atom.span, asserted=atom.asserted)


def _variables(atoms: Sequence[Atom]) -> frozenset[str]:
    return frozenset(each.name for atom in atoms for each in variables(atom))
