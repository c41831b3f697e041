"""Negation that the schema decides, by the instances of rules.

An instance puts facts of the schema for the body atoms that bind the predicate, or the class, of a
rule's head: what rules derive is told apart by these. A rule that negates waits until no rule that
may derive what it negates waits any more. Invariant: nothing is incremental.
"""

from __future__ import annotations

from itertools import product

from oracle.patterns import combinations
from streamreasoner.lang.ast import Atom, Constant, Negation, Rule, Variable
from streamreasoner.lang.constants import RDF_TYPE
from streamreasoner.plan.program_plan import SEGMENT

KINDS = "triple", "quad"
"""Predicates whose facts are told apart by the predicate, and the class, that they have."""


class CircularError(Exception):
    """A negation depends on itself, or the schema on a negation."""


def segments(rules, facts):
    """The parts of a stratum: (the iteration that it begins with, the rules that derive in it).

    Args:
        rules: The rules of a stratum.
        facts: Called when all of the part before is done, returns the facts that are present.

    Raises:
        CircularError: There is no order.
    """
    negating = [rule for rule in rules if guards(rule, rules)]
    yield 0, [rule for rule in rules if rule not in negating]
    if negating:
        levels = levels_of(rules, negating, facts())
        for level in range(1, max(levels.values()) + 1):
            ready = [rule for rule in rules if levels.get(rule, 0) <= level]
            # What waits for a segment is told so in its first iteration.
            yield level * SEGMENT + 1, ready


def levels_of(rules, negating, facts):
    """The segment of each rule that negates."""
    parts = [(rule, one) for rule in rules for one in instances(rule, facts)]
    following = {rule: set() for rule in negating}
    for rule, one in parts:
        if rule in following:
            following[rule] |= reached(one.head, parts)
    guiding = [guide for rule in rules for guide in guides(rule)]
    for rule, heads in following.items():
        if any(matching(*each) for each in product(heads, guiding)):
            raise CircularError(rule)
    levels = dict.fromkeys(negating, 1)
    for _ in negating:
        levels = {
            rule: 1
            + max((levels[o] for o in negating if feeds(following[o], rule, rules)), default=0)
            for rule in negating
        }
    if max(levels.values()) > len(levels):
        raise CircularError
    return levels


def instances(rule, facts):
    """The rule for each choice of facts for its guides."""
    by_predicate = {
        name: [terms for predicate, terms in facts if predicate == name] for name in KINDS
    }
    for bindings, _ in combinations(guides(rule), by_predicate):
        known = {name: Constant(term, rule.span) for name, term in bindings.items()}
        yield Rule(
            tuple(bound(head, known) for head in rule.heads),
            tuple(bound(each, known) if isinstance(each, Atom) else each for each in rule.body),
            rule.span,
        )


def guides(rule):
    """The atoms that bind the kind of the head."""
    wanted = {each.name for each in kind(rule.head) if isinstance(each, Variable)}
    return [
        atom
        for atom in rule.atoms
        if atom.predicate in KINDS
        and isinstance(atom.arguments[1], Constant)
        and wanted & {each.name for each in atom.arguments if isinstance(each, Variable)}
    ]


def guards(rule, rules):
    """The negated atoms of a rule that some rule may derive."""
    negated = [each.atom for each in rule.body if isinstance(each, Negation)]
    return [
        atom
        for atom in negated
        if isinstance(atom, Atom)
        and not atom.asserted
        and any(unify(other.head, atom) for other in rules)
    ]


def unify(head, atom):
    """Whether the constants of a head and an atom agree."""
    places = zip(head.arguments, atom.arguments, strict=False)
    return head.predicate == atom.predicate and all(
        a == b for a, b in places if isinstance(a, Constant) and isinstance(b, Constant)
    )


def kind(atom):
    """What tells facts apart: the predicate of triples, and the class if it is rdf:type."""
    if atom.predicate not in KINDS:
        return ()
    verb, other = atom.arguments[1:3]
    is_type = isinstance(verb, Constant) and verb.term == RDF_TYPE
    return (verb, other) if is_type or isinstance(other, Constant) else (verb,)


def matching(head, atom):
    """Whether facts of a head may match an atom, as far as their kinds tell."""
    if head.predicate != atom.predicate:
        return False
    constants = zip(kind(head), kind(atom), strict=False)
    return all(a == b for a, b in constants if isinstance(a, Constant) and isinstance(b, Constant))


def reached(head, parts):
    """The heads of all instances that depend on facts of a head, and the head.

    What a head says of their predicate and object, instances keep where their variables do.
    """
    found, waiting = {head}, [head]
    while waiting:
        last = waiting.pop()
        for _, one in parts:
            for atom in (each for each in one.atoms if matching(last, each)):
                derived = bound(one.head, told(last, atom))
                if derived not in found:
                    found.add(derived)
                    waiting.append(derived)
    return found


def told(head, atom):
    """What variables of an atom are where facts of a head match it, as far as their kind tells."""
    places = zip(atom.arguments[1:3], head.arguments[1:3], strict=True) if kind(atom) else ()
    return {a.name: b for a, b in places if isinstance(a, Variable) and isinstance(b, Constant)}


def feeds(heads, rule, rules):
    """Whether what follows may be what a rule negates."""
    return any(matching(*each) for each in product(heads, guards(rule, rules)))


def bound(atom, known):
    """An atom with constants for some variables."""
    arguments = (
        known.get(each.name, each) if isinstance(each, Variable) else each
        for each in atom.arguments
    )
    return Atom(atom.predicate, tuple(arguments), atom.span)
