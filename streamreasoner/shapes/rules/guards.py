"""Rules that ask whether what they derive is there. Invariant: no rule waits for its own triples.

A rule with `FILTER NOT EXISTS { T }` that derives the triple T alone derives what is missing: T
holds in any case, so the condition says nothing. A rule that derives a value only where there is
none yet, of what is asserted, gives a default.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.dependency import unifies
from streamreasoner.lang.ast import TRIPLE, Atom, Negation, Rule, Variable
from streamreasoner.lang.traversal import substituted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamreasoner.lang.ast import Literal


def without_guards(rules: Sequence[Rule]) -> list[Rule]:
    """The rules of one rule in SPARQL, without negation of what they derive.

    Args:
        rules: Those that derive triples, and those of helpers.
    """
    rules = _direct(rules)
    heads = [head for rule in rules for head in rule.heads if head.predicate == TRIPLE]
    alone = len(set(heads)) == 1
    negated = {
        literal.atom.predicate
        for rule in rules
        for literal in rule.body
        if isinstance(literal, Negation) and isinstance(literal.atom, Atom)
    }
    # What is read both ways stays as it is.
    derived = {atom.predicate for rule in rules if rule.heads[0] in heads for atom in rule.atoms}
    helpers = _below(negated - {TRIPLE}, rules) - _below(derived - {TRIPLE}, rules)
    return [
        replace(rule, body=tuple(_literals(rule, heads, helpers, alone=alone))) for rule in rules
    ]


def _direct(rules: Sequence[Rule]) -> list[Rule]:
    """The rules with negated triples in place of negated helpers that stand for one triple."""
    helpers: dict[str, list[Rule]] = {}
    for rule in rules:
        helpers.setdefault(rule.head.predicate, []).append(rule)

    def put(literal: Literal, body: Sequence[Literal]) -> Literal:
        match literal:
            case Negation(Atom() as atom) if len(helpers.get(atom.predicate, ())) == 1:
                (helper,) = helpers[atom.predicate]
                terms = {
                    name.name: term
                    for name, term in zip(helper.head.arguments, atom.arguments, strict=True)
                    if isinstance(name, Variable)
                }
                parts = [substituted(each, terms) for each in helper.body]
                rest = [each for each in parts if each not in body]
                if len(rest) == 1 and isinstance(rest[0], Atom) and rest[0].predicate == TRIPLE:
                    return replace(literal, atom=rest[0])
            case _:
                pass
        return literal

    inlined = [
        replace(rule, body=tuple(put(each, rule.body) for each in rule.body)) for rule in rules
    ]
    atoms = (
        each.atom if isinstance(each, Negation) else each for rule in inlined for each in rule.body
    )
    read = {each.predicate for each in atoms if isinstance(each, Atom)}
    return [rule for rule in inlined if rule.head.predicate in read | {TRIPLE}]


def _below(predicates: set[str], rules: Sequence[Rule]) -> set[str]:
    """Some helpers, and those that their rules read."""
    found = [*predicates]
    for each in found:
        for rule in rules:
            if rule.head.predicate == each:
                found += (
                    atom.predicate
                    for atom in rule.atoms
                    if atom.predicate != TRIPLE and atom.predicate not in found
                )
    return set(found)


def _literals(
    rule: Rule, heads: Sequence[Atom], helpers: set[str], *, alone: bool
) -> Iterator[Literal]:
    for literal in rule.body:
        match literal:
            case Negation(Atom() as atom) if atom.predicate == TRIPLE:
                if alone and rule.head == atom:
                    continue
                yield replace(literal, atom=_asserted(atom, heads))
            case Atom() if literal.predicate == TRIPLE and rule.head.predicate in helpers:
                yield _asserted(literal, heads)
            case _:
                yield literal


def _asserted(atom: Atom, heads: Sequence[Atom]) -> Atom:
    return replace(atom, asserted=True) if any(unifies(atom, head) for head in heads) else atom
