"""Rules, negation, multiplicities and iterations, as docs/semantics.md defines them.

A fact is (predicate, terms), a trace fact -> {iteration: multiplicity}. What terms, conditions and
groups are worth, a `Meaning` says. Invariant: iteration i + 1 follows from all present facts at i.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from oracle import opened
from oracle.instances import segments
from oracle.patterns import ANYTHING, combinations, fits
from oracle.trace import NotConvergingError, Trace
from streamreasoner.lang.ast import GIVEN, Atom, Negation, TripleTerm, Wildcard


def evaluate(program, facts, meaning, most_iterations):
    """The trace of a program over `facts`, a dict from fact to multiplicity of any sign."""
    asserted = Counter(facts)
    asserted.update((atom.predicate, pattern(atom, {}, meaning)) for atom in program.facts)
    trace = Trace(meaning)
    trace.add(0, asserted)
    given = asserted_part(trace)
    for stratum in program.strata:
        rules = [program.rules[index] for index in stratum]
        start, before, parts = Counter(trace.sums), Counter(), set()
        places = opened.places_of(rules)
        within = opened.derived(places, rules)
        lower = present(start, meaning) | given
        read = given | opened.complete([each for each in places if each not in within], lower)
        for first, ready in segments(rules, lambda: present(trace.sums, meaning)):
            iteration = first
            # At i + 1 is what the facts present at i derive minus what those at i - 1 do.
            while True:
                facts = present(start + before, meaning) | read | parts
                now, then = derivations(ready, facts, meaning), opened.terms(within, facts)
                if (now, then) == (before, parts):
                    break
                iteration += 1
                if iteration - first > most_iterations:
                    raise NotConvergingError
                trace.add(iteration, {fact: now[fact] - before[fact] for fact in now | before})
                before, parts = now, then
    return trace


def present(sums, meaning):
    """The facts whose multiplicities sum to more than 0; of a lattice's group only the best."""
    return meaning.best(fact for fact, multiplicity in sums.items() if multiplicity > 0)


def asserted_part(trace):
    """The asserted facts as those of the predicates that `asserted p(?x)` reads."""
    return {
        (GIVEN + predicate, terms)
        for (predicate, terms), multiplicities in trace.items()
        if multiplicities.get(0, 0) > 0
    }


def derivations(rules, facts, meaning):
    """The number of derivations of each fact by the rules; `facts` are those present."""
    by_predicate = defaultdict(list)
    for predicate, terms in facts:
        by_predicate[predicate].append(terms)
    derived, aggregated = Counter(), defaultdict(list)
    for rule in rules:
        reduction = meaning.reduction(rule.head)
        heads = (pattern(rule.head, each, meaning) for each in matches(rule, by_predicate, meaning))
        rows = [head for head in heads if None not in head]
        if reduction:
            aggregated[reduction] += rows
        else:
            derived.update((rule.head.predicate, row) for row in rows)
    for reduction, rows in aggregated.items():
        derived.update(meaning.results(reduction, rows))
    return derived


def matches(rule, facts, meaning):
    """The bindings of each match: a present fact for each positive atom, and the rest holds."""
    for found, chosen in combinations(rule.atoms, facts):
        if not opened.taken_apart(rule, chosen, facts):
            continue
        bindings = meaning.assigned(rule, found)
        if bindings is not None and satisfied(rule, bindings, chosen, facts, meaning):
            yield bindings


def satisfied(rule, bindings, chosen, facts, meaning):
    """Whether the chosen facts match their atoms, and the rest of the body holds."""
    wanted = (sought(atom, bindings, meaning) for atom in rule.atoms)
    return all(map(fits, chosen, wanted)) and all(
        holds(each, bindings, facts, meaning) for each in rule.body if not isinstance(each, Atom)
    )


def holds(literal, bindings, facts, meaning):
    """Whether a literal holds; a negated atom does if no present fact matches it."""
    match literal:
        case Negation(Atom() as atom):
            wanted, others = sought(atom, bindings, meaning), facts[atom.reads]
            return None not in wanted and not any(fits(fact, wanted) for fact in others)
        case _:
            return meaning.condition(literal, bindings)


def pattern(atom, bindings, meaning):
    """The terms of a head: None for an expression without a value."""
    return tuple(meaning.term(each, bindings) for each in atom.arguments)


def sought(atom, bindings, meaning):
    """What an atom of a body matches: terms, `ANYTHING`, and None without a value.

    A triple term is a tuple of the same.
    """
    return tuple(_sought(each, bindings, meaning) for each in atom.arguments)


def _sought(argument, bindings, meaning):
    match argument:
        case Wildcard():
            return ANYTHING
        case TripleTerm():
            return tuple(_sought(each, bindings, meaning) for each in argument.parts)
        case _:
            return meaning.term(argument, bindings)
