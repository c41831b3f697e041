"""Drive a Reasoner with canonical terms, as the strategies and the oracle speak them."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from streamreasoner.collection.updates import Updates
from streamreasoner.reasoner import Reasoner


class Driver:
    """A Reasoner whose input and output are facts (predicate, canonical terms)."""

    def __init__(self, checked, **options):
        self.reasoner = Reasoner(checked, **options)
        self.epoch = 0

    def apply(self, updates):
        """One epoch of (predicate, args, multiplicity); returns its EpochResult."""
        result = self.reasoner.engine.apply(self.epoch, self.encode(updates))
        self.epoch += 1
        return result

    def encode(self, updates):
        """Runs of one predicate, as the engine takes them."""
        for predicate, run in groupby(updates, key=lambda update: update[0]):
            rows = list(run)
            ids = [[self.reasoner.dictionary.intern(term) for term in args] for _, args, _ in rows]
            yield Updates(
                predicate,
                np.array(ids, np.int32).reshape(len(rows), len(rows[0][1])),
                np.array([multiplicity for *_, multiplicity in rows], np.int64),
            )

    def trace(self):
        """The whole trace, fact -> {iteration: multiplicity}."""
        found = {}
        for predicate in self.reasoner.program.arities:
            rows = self.reasoner.engine.trace(predicate)
            for fact, iteration, multiplicity in zip(
                self.facts(predicate, rows.args),
                rows.iteration.tolist(),
                rows.multiplicity.tolist(),
                strict=True,
            ):
                counts = found.setdefault(fact, {})
                assert iteration not in counts
                counts[iteration] = multiplicity
        return found

    def closure(self):
        """The present facts."""
        return {
            fact
            for predicate in self.reasoner.program.arities
            for fact in self.facts(predicate, self.reasoner.engine.facts(predicate))
        }

    def facts(self, predicate, args):
        """Encoded rows as facts."""
        terms = self.reasoner.dictionary.decode(args.reshape(-1)).to_pylist()
        arity = args.shape[1]
        return [
            (predicate, tuple(terms[row * arity : (row + 1) * arity])) for row in range(len(args))
        ]

    def add_changes(self, changes, totals):
        """Add the changes of an epoch to fact -> multiplicity, dropping zeros."""
        for part in changes:
            for fact, sign in zip(
                self.facts(part.predicate, part.args), part.multiplicity.tolist(), strict=True
            ):
                totals[fact] = totals.get(fact, 0) + sign
                if not totals[fact]:
                    del totals[fact]

    def add_trace(self, rows, totals):
        """Add the trace differences of an epoch to fact -> {iteration: multiplicity}."""
        for part in rows:
            for fact, iteration, multiplicity in zip(
                self.facts(part.predicate, part.args),
                part.iteration.tolist(),
                part.multiplicity.tolist(),
                strict=True,
            ):
                counts = totals.setdefault(fact, {})
                counts[iteration] = counts.get(iteration, 0) + multiplicity
                if not counts[iteration]:
                    del counts[iteration]
                if not counts:
                    del totals[fact]
