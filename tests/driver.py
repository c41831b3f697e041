"""Drive a session with canonical terms, like those of the strategies and the oracle."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np
import pyarrow as pa
from hypothesis import reject

from streamreasoner.backends.store import columnar
from streamreasoner.engine.ports import NO_BOUND
from streamreasoner.engine.session import Session
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import RecursionLimitError
from streamreasoner.plan.lower.lowering import lower


class Driver:
    """A session whose input and output are facts (predicate, canonical terms).

    Attributes:
        session: The session.
        epoch: The next epoch.
        own: The predicates of the program.
        predicates: Those of the program and those that its plan adds, which have a trace too.
        new_store: Makes the store of a driver without one; None: it is in memory.
        recursion_limit: More iterations than any small program that terminates needs.
        encodes: Whether hierarchies are encoded; None: once it pays.
    """

    new_store = None
    encodes = False
    recursion_limit = 100

    def __init__(self, checked, recursion_limit=None, **options):
        limit = Driver.recursion_limit if recursion_limit is None else recursion_limit
        new_store = Driver.new_store or columnar
        store = options.pop("store", None) or new_store()
        encodes = options.pop("encodes", Driver.encodes)
        plan = lower(checked)
        self.session = Session(
            checked,
            store,
            recursion_limit=limit,
            lowered=None if encodes else plan,
            encodes=encodes,
            **options,
        )
        self.epoch = 0
        self.own = tuple(checked.arities)
        self.predicates = tuple(plan.arities)

    def inherit(self, other, change=lambda rows: rows):
        """Take over the state of another driver, its trace changed by `change`."""
        terms = other.session.dictionary
        # The constants of a program that was changed have other ids here.
        ids = self.session.dictionary.encode(terms.terms(0, len(terms)))
        traces = map(other.session.engine.trace, other.predicates)
        self.session.engine.restore(
            (change(replace(trace, args=ids[trace.args])) for trace in traces),
            other.epoch,
            other.session.engine.frontier,
        )
        self.epoch = other.epoch

    def apply(self, updates, **options):
        """One epoch of (predicate, args, multiplicity[, time]); returns its EpochResult."""
        result = self.session.apply(self.encode(updates), epoch=self.epoch, **options)
        self.epoch += 1
        return result

    def change(self, checked, updates=()):
        """Switch to another program, in one epoch with updates; returns its EpochResult."""
        result = self.session.apply(list(self.encode(updates)), checked, epoch=self.epoch)
        self.epoch += 1
        self.own = tuple(checked.arities)
        self.predicates = tuple(dict.fromkeys((*self.predicates, *lower(checked).arities)))
        return result

    def run(self, epochs):
        """Apply epochs and return their results; reject examples that exceed the recursion limit.

        Another law tests the recursion limit.
        """
        try:
            return [self.apply(epoch) for epoch in epochs]
        except RecursionLimitError:
            reject()

    def encode(self, updates):
        """Encode updates for the engine, in runs of one predicate and source.

        After predicate, arguments and multiplicity an update may have a time, or None, and a
        source; those of a source are in the order of the log.
        """
        runs = groupby(updates, key=lambda update: (update[0], update[4:]))
        for number, ((predicate, source), run) in enumerate(runs):
            rows = list(run)
            terms = pa.array([term for _, args, *_ in rows for term in args], pa.large_string())
            ids = self.session.dictionary.encode(terms)
            yield Updates(
                predicate,
                ids.reshape(len(rows), len(rows[0][1])),
                np.array([row[2] for row in rows], np.int64),
                None if len(rows[0]) != 4 else np.array([row[3] for row in rows], np.int64),
                *((*source, (number << 32) + np.arange(len(rows))) if source else ()),
            )

    def trace(self, predicates=None, bound=NO_BOUND):
        """The trace, fact -> {iteration: multiplicity}, of the program's predicates or others.

        Or that of their facts with some ids at their positions.
        """
        trace = {}
        for predicate in self.own if predicates is None else predicates:
            rows = self.session.engine.trace(predicate, bound)
            for fact, iteration, multiplicity in zip(
                self.facts(predicate, rows.args),
                rows.iteration.tolist(),
                rows.multiplicity.tolist(),
                strict=True,
            ):
                multiplicities = trace.setdefault(fact, {})
                assert iteration not in multiplicities
                multiplicities[iteration] = multiplicity
        return trace

    def closure(self, predicates=None):
        """The present facts of the program's predicates, or of others."""
        return {
            fact
            for predicate in (self.own if predicates is None else predicates)
            for fact in self.facts(predicate, self.session.engine.facts(predicate))
        }

    def facts(self, predicate, args):
        """Encoded rows as facts."""
        terms = self.session.dictionary.decode(args.reshape(-1)).to_pylist()
        arity = args.shape[1]
        return [
            (predicate, tuple(terms[row * arity : (row + 1) * arity])) for row in range(len(args))
        ]

    def changes(self, epochs):
        """Apply epochs; the changes of derived facts of each, as (fact, sign)."""
        return [list(self.signed(self.apply(epoch).derived)) for epoch in epochs]

    def signed(self, changes):
        """Changes as (fact, sign)."""
        for part in changes:
            facts = self.facts(part.predicate, part.args)
            yield from zip(facts, part.multiplicity.tolist(), strict=True)

    def add_changes(self, changes, totals):
        """Add the changes of an epoch to fact -> multiplicity, dropping zeros."""
        for fact, sign in self.signed(changes):
            totals[fact] = totals.get(fact, 0) + sign
            if not totals[fact]:
                del totals[fact]

    def add_trace(self, rows, totals):
        """Add the trace differences of an epoch to fact -> {iteration: multiplicity}."""
        for part in (part for part in rows if part.predicate in self.own):
            for fact, iteration, multiplicity in zip(
                self.facts(part.predicate, part.args),
                part.iteration.tolist(),
                part.multiplicity.tolist(),
                strict=True,
            ):
                multiplicities = totals.setdefault(fact, {})
                multiplicities[iteration] = multiplicities.get(iteration, 0) + multiplicity
                if not multiplicities[iteration]:
                    del multiplicities[iteration]
                if not multiplicities:
                    del totals[fact]


def set_recursion_limit(engine, limit):
    """Evaluate epochs with another limit from now on, as after a restart with another one."""
    given = engine._fixpoints  # noqa: SLF001 - a limit is that of an engine for good
    dictionary, _, most_terms = given.args
    engine._fixpoints = partial(given.func, dictionary, limit, most_terms)  # noqa: SLF001
