"""The triple terms that joins take apart, as docs/semantics.md defines them.

A place says where atoms have a pattern: (what they read, their constants, the position of the
pattern); the place of a pattern within another reads that of the other one. A triple term that was
taken apart is a fact of its place, which no trace shows. Invariant: matches follow from such facts.
"""

from __future__ import annotations

from oracle.patterns import ANYTHING, fits
from oracle.terms import triple
from streamreasoner.lang.ast import Atom, Constant, Negation, TripleTerm


def places_of(rules):
    """The places of rules, each after that which it is within."""
    return {place: None for rule in rules for atom in rule.atoms for place in _places(rule, atom)}


def derived(places, rules):
    """The places of facts that rules may derive."""
    found = {}
    for place in places:
        source, wanted, _ = place
        if source in found or any(_may_derive(rule.head, source, wanted) for rule in rules):
            found[place] = None
    return found


def terms(places, facts):
    """What of these facts is taken apart at places, outside of others first."""
    found = set()
    for place in places:
        source, wanted, position = place
        for predicate, row in facts:
            if predicate == source:
                parts = row if isinstance(source, str) else triple(*row)
                if fits(parts, wanted) and triple(parts[position]):
                    found.add((place, (parts[position],)))
    return found


def complete(places, facts):
    """All that is taken apart of facts that do not change any more."""
    found, before = terms(places, facts), None
    while found != before:
        found, before = terms(places, facts | found), found
    return found


def taken_apart(rule, chosen, facts):
    """Whether the triple terms of a match have been taken apart; chosen is a fact for each atom."""
    return all(
        (_term(place, fact),) in facts[place]
        for atom, fact in zip(rule.atoms, chosen, strict=True)
        for place in _places(rule, atom)
    )


def _places(rule, atom):
    """The places of an atom, unless it is alone in its body."""
    if sum(isinstance(_positive(each), Atom) for each in rule.body) > 1:
        yield from _within(atom.reads, atom.arguments)


def _within(source, arguments):
    wanted = tuple(each.term if isinstance(each, Constant) else ANYTHING for each in arguments)
    for position, argument in enumerate(arguments):
        if isinstance(argument, TripleTerm):
            place = source, wanted, position
            yield place
            yield from _within(place, argument.parts)


def _positive(literal):
    return literal.atom if isinstance(literal, Negation) else literal


def _may_derive(head, predicate, wanted):
    """Whether the constants of a head agree with those of a place."""
    return head.predicate == predicate and all(
        term is ANYTHING or not isinstance(each, Constant) or each.term == term
        for each, term in zip(head.arguments, wanted, strict=True)
    )


def _term(place, fact):
    source, _, position = place
    return (fact if isinstance(source, str) else triple(_term(source, fact)))[position]
