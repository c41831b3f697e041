"""What follows from facts. Invariant: iteration i + 1 is computed from all that is present at i."""

from __future__ import annotations

from collections import Counter, defaultdict

from oracle.aggregates import aggregate, order
from oracle.expressions import ANYTHING, assigned, expected, fits, holds, term
from streamreasoner.lang.ast import Aggregate, Atom, Constant, Variable

MOST_ITERATIONS = 100
LATTICES = ("min", "max")


class NotConvergingError(Exception):
    """A stratum still changes after so many iterations."""


class Trace(dict):
    """Fact -> {iteration: multiplicity}, and the lattices that decide which facts are present."""

    def __init__(self, lattices):
        super().__init__()
        self.lattices = lattices

    @property
    def sums(self):
        """Fact -> the sum of its multiplicities."""
        return {fact: sum(counts.values()) for fact, counts in self.items()}

    @property
    def iterations(self):
        """The last iteration at which anything counts."""
        return max((max(counts) for counts in self.values()), default=0)

    def add(self, fact, iteration, multiplicity):
        """Add what is not zero."""
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
        # A count at iteration i + 1 is what the facts present at i derive more than those at i - 1.
        while (now := derivations(rules, present(start, before, trace.lattices))) != before:
            iteration += 1
            if iteration > most_iterations:
                raise NotConvergingError
            for fact in now | before:
                trace.add(fact, iteration, now[fact] - before[fact])
            before = now
    return trace


def total(epoch_list):
    """The sum of all updates, fact -> multiplicity without zeros: what the oracle evaluates."""
    totals = {}
    for predicate, args, multiplicity in (update for epoch in epoch_list for update in epoch):
        totals[predicate, args] = totals.get((predicate, args), 0) + multiplicity
    return {fact: multiplicity for fact, multiplicity in totals.items() if multiplicity}


def closure(trace):
    """The facts that are present in the end."""
    return present(trace.sums, {}, trace.lattices)


def derived(trace):
    """The facts that are present and not asserted."""
    return {fact for fact in closure(trace) if trace[fact].get(0, 0) <= 0}


def present(start, derived_now, lattices):
    """The facts with a positive sum; of those that a lattice lets compete, the best."""
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
    """(what the competitors share, function, value that decides); a fact alone if in no lattice."""
    predicate, arguments = fact
    for name, pattern, position, function in lattices:
        if name == predicate and fits(arguments, pattern):
            others = (*arguments[:position], ANYTHING, *arguments[position + 1 :])
            return (predicate, others), function, arguments[position]
    return fact, None, None


def is_lattice(head):
    """Whether a head has min or max as its only aggregate."""
    found = [argument for argument in head.arguments if isinstance(argument, Aggregate)]
    return len(found) == 1 and found[0].function in LATTICES


def lattice(head):
    """(predicate, constants and anything else, position of the value, function)."""
    (position,) = (i for i, each in enumerate(head.arguments) if isinstance(each, Aggregate))
    return head.predicate, constants(head), position, head.arguments[position].function


def constants(atom):
    """The terms of an atom, `ANYTHING` where it holds no constant."""
    return tuple(each.term if isinstance(each, Constant) else ANYTHING for each in atom.arguments)


def derivations(rules, facts):
    """How many derivations the rules give each fact; `facts` are those that are present."""
    by_predicate = defaultdict(list)
    for predicate, arguments in facts:
        by_predicate[predicate].append(arguments)
    found, matched = Counter(), defaultdict(list)
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
                found[rule.head.predicate, row] += 1
    for (predicate, aggregates), rows in matched.items():
        found.update((predicate, row) for row in reduced(aggregates, rows))
    return found


def reduced(aggregates, rows):
    """One row for each group of rows that agree where nothing is aggregated."""
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
    """The bindings of each combination of facts, one for each positive atom, that satisfies."""
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
    """Whether the chosen facts are what the atoms ask for, and all else in the body holds."""
    asked = [expected(atom, bindings) for atom in rule.atoms]
    return all(
        terms is not None and fits(fact, terms) for terms, fact in zip(asked, chosen, strict=True)
    ) and all(holds(each, bindings, facts) for each in rule.body if not isinstance(each, Atom))


def extend(atom, fact, bindings):
    """The bindings with the variables of an atom that is this fact; None if one is two terms."""
    extended = dict(bindings)
    for pattern, value in zip(atom.arguments, fact, strict=True):
        if isinstance(pattern, Variable) and extended.setdefault(pattern.name, value) != value:
            return None
    return extended
