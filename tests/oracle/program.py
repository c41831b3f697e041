"""What tests ask of the oracle: the core with its meaning. Invariant: it decides nothing itself."""

from __future__ import annotations

from oracle import core, opened
from oracle.meaning import Meaning

MOST_ITERATIONS = 100


def evaluate(checked, facts, most_iterations=MOST_ITERATIONS, *, helpers=False):
    """The trace of `checked` over `facts`, a dict from fact to multiplicity (any sign).

    Facts of the helpers of bodies are part of it only if asked for: no user sees them.

    Raises:
        NotConvergingError: A stratum changes at an iteration beyond `most_iterations`.
    """
    trace = core.evaluate(checked, facts, Meaning(checked.rules), most_iterations)
    return trace if helpers else trace.without(checked.helpers)


def total(epoch_list):
    """The consolidated updates of all epochs: fact -> non-zero multiplicity, for `evaluate`."""
    totals = {}
    for predicate, args, multiplicity in (update for epoch in epoch_list for update in epoch):
        totals[predicate, args] = totals.get((predicate, args), 0) + multiplicity
    return {fact: multiplicity for fact, multiplicity in totals.items() if multiplicity}


def closure(trace):
    """The facts present after the last iteration."""
    return core.present(trace.sums, trace.meaning)


def derived(trace):
    """The facts that are present and not asserted."""
    return {fact for fact in closure(trace) if trace[fact].get(0, 0) <= 0}


def readable(trace):
    """What atoms read at the end: the present facts, and those asserted, by what reads them."""
    return closure(trace) | core.asserted_part(trace)


def derivations(rules, facts):
    """The number of derivations of each fact by the rules; `facts` are those they read."""
    read = facts | opened.complete(opened.places_of(rules), facts)
    return core.derivations(rules, read, Meaning(rules))


def holds(literal, bindings, facts=()):
    """Whether a literal other than a positive atom holds; `facts` by predicate."""
    return core.holds(literal, bindings, facts, Meaning(()))
