"""Evaluation of programs. Invariant: iteration i + 1 is computed from all facts present at i."""

from __future__ import annotations

from collections import Counter, defaultdict

from oracle.aggregates import aggregate, order
from oracle.expressions import ANYTHING, assigned, expected, fits, holds, term
from streamreasoner.lang.ast import Aggregate, Atom, Constant, Variable

MOST_ITERATIONS = 100
LATTICES = ("min", "max")


class NotConvergingError(Exception):
    """A stratum still changes at the last permitted iteration."""


class Trace(dict):
    """Fact -> {iteration: multiplicity}, with the lattices that affect presence."""

    def __init__(self, lattices):
        super().__init__()
        self.lattices = lattices

    @property
    def sums(self):
        """Fact -> the sum of its multiplicities."""
        return {fact: sum(entries.values()) for fact, entries in self.items()}

    @property
    def iterations(self):
        """The last iteration with a multiplicity."""
        return max((max(entries) for entries in self.values()), default=0)

    def add(self, fact, iteration, multiplicity):
        """Add a multiplicity unless it is zero."""
        if multiplicity:
            self.setdefault(fact, {})[iteration] = multiplicity


def evaluate(checked, facts, most_iterations=MOST_ITERATIONS):
    """The trace of `checked` over `facts`, a dict from fact to multiplicity (any sign).

    Raises:
        NotConvergingError: A stratum changes at an iteration beyond `most_iterations`.
    """
    trace = Trace({lattice(rule.head) for rule in checked.rules if is_lattice(rule.head)})
    own = Counter((atom.predicate, constants(atom)) for atom in checked.facts)
    for fact in {**facts, **own}:
        trace.add(fact, 0, facts.get(fact, 0) + own[fact])
    for stratum in checked.strata:
        rules = [checked.rules[index] for index in stratum]
        start, before, iteration = trace.sums, Counter(), 0
        # The multiplicity at i + 1 is what facts present at i derive minus what those at i - 1 do.
        while (now := derivations(rules, present(start, before, trace.lattices))) != before:
            iteration += 1
            if iteration > most_iterations:
                raise NotConvergingError
            for fact in now | before:
                trace.add(fact, iteration, now[fact] - before[fact])
            before = now
    return trace


def total(epoch_list):
    """The consolidated updates of all epochs: fact -> non-zero multiplicity, for `evaluate`."""
    totals = {}
    for predicate, args, multiplicity in (update for epoch in epoch_list for update in epoch):
        totals[predicate, args] = totals.get((predicate, args), 0) + multiplicity
    return {fact: multiplicity for fact, multiplicity in totals.items() if multiplicity}


def closure(trace):
    """The facts present after the last iteration."""
    return present(trace.sums, {}, trace.lattices)


def derived(trace):
    """The facts that are present and not asserted."""
    return {fact for fact in closure(trace) if trace[fact].get(0, 0) <= 0}


def present(start, derived_now, lattices):
    """The facts with a positive sum; of the candidates of a lattice group only the best."""
    sums = Counter(start)
    sums.update(derived_now)
    best = {}
    for fact in (fact for fact, multiplicity in sums.items() if multiplicity > 0):
        group, function, value = competition(fact, lattices)
        if group in best:
            choose = {"min": min, "max": max}[function]
            best[group] = choose(best[group], (order(value), fact))
        else:
            best[group] = (order(value), fact) if function else (None, fact)
    return {fact for _, fact in best.values()}


def competition(fact, lattices):
    """(group, function, value to compare); (fact, None, None) for a fact of no lattice."""
    predicate, arguments = fact
    for name, pattern, position, function in lattices:
        if name == predicate and fits(arguments, pattern):
            others = (*arguments[:position], ANYTHING, *arguments[position + 1 :])
            return (predicate, others), function, arguments[position]
    return fact, None, None


def is_lattice(head):
    """Whether a head has min or max as its only aggregate."""
    aggregates = [argument for argument in head.arguments if isinstance(argument, Aggregate)]
    return len(aggregates) == 1 and aggregates[0].function in LATTICES


def lattice(head):
    """(predicate, pattern, position of the value, function)."""
    (position,) = (i for i, each in enumerate(head.arguments) if isinstance(each, Aggregate))
    return head.predicate, constants(head), position, head.arguments[position].function


def constants(atom):
    """The terms of an atom, with `ANYTHING` in place of non-constants."""
    return tuple(each.term if isinstance(each, Constant) else ANYTHING for each in atom.arguments)


def derivations(rules, facts):
    """The number of derivations of each fact by the rules; `facts` are those present."""
    by_predicate = defaultdict(list)
    for predicate, arguments in facts:
        by_predicate[predicate].append(arguments)
    derived_facts, matched = Counter(), defaultdict(list)
    for rule in rules:
        aggregates = tuple(
            (each.function, each.distinct) if isinstance(each, Aggregate) else None
            for each in rule.head.arguments
        )
        operands = [
            each.arguments[0] if isinstance(each, Aggregate) else each
            for each in rule.head.arguments
        ]
        for bindings in matches(rule, by_predicate):
            row = tuple(term(operand, bindings) for operand in operands)
            if None in row:
                continue
            if any(aggregates) and not is_lattice(rule.head):
                matched[rule.head.predicate, aggregates].append(row)
            else:
                derived_facts[rule.head.predicate, row] += 1
    for (predicate, aggregates), rows in matched.items():
        derived_facts.update((predicate, row) for row in reduced(aggregates, rows))
    return derived_facts


def reduced(aggregates, rows):
    """One aggregated row for each group of rows."""
    groups = defaultdict(list)
    for row in rows:
        key = tuple(None if each else value for each, value in zip(aggregates, row, strict=True))
        groups[key].append(row)
    for key, members in groups.items():
        columns = zip(*members, strict=True)
        row = tuple(
            aggregate(*each, column) if each else value
            for each, value, column in zip(aggregates, key, columns, strict=True)
        )
        if None not in row:
            yield row


def matches(rule, facts):
    """The bindings of each match: facts for the positive atoms that satisfy the body."""
    combinations, names = [({}, ())], set()
    for atom in rule.atoms:
        known = [
            (position, each)
            for position, each in enumerate(atom.arguments)
            if isinstance(each, Constant) or (isinstance(each, Variable) and each.name in names)
        ]
        index = defaultdict(list)
        for fact in facts[atom.predicate]:
            index[tuple(fact[position] for position, _ in known)].append(fact)
        combinations = [
            (extended, (*chosen, fact))
            for bindings, chosen in combinations
            for fact in index[tuple(term(each, bindings) for _, each in known)]
            if (extended := extend(atom, fact, bindings)) is not None
        ]
        names |= {each.name for each in atom.arguments if isinstance(each, Variable)}
    for bindings, chosen in combinations:
        complete = assigned(rule, bindings)
        if complete is not None and satisfied(rule, complete, chosen, facts):
            yield complete


def satisfied(rule, bindings, chosen, facts):
    """Whether the chosen facts match their atoms and the rest of the body holds."""
    patterns = [expected(atom, bindings) for atom in rule.atoms]
    return all(
        terms is not None and fits(fact, terms)
        for terms, fact in zip(patterns, chosen, strict=True)
    ) and all(holds(each, bindings, facts) for each in rule.body if not isinstance(each, Atom))


def extend(atom, fact, bindings):
    """The bindings extended by matching an atom with a fact; None if they conflict."""
    extended = dict(bindings)
    for pattern, value in zip(atom.arguments, fact, strict=True):
        if isinstance(pattern, Variable) and extended.setdefault(pattern.name, value) != value:
            return None
    return extended
