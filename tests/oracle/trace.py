"""The trace of a program, as a dict. Invariant: it holds no multiplicity of zero."""

from __future__ import annotations


class NotConvergingError(Exception):
    """A stratum still changes at the last permitted iteration."""


class Trace(dict):
    """Fact -> {iteration: multiplicity}, with the `Meaning` that decides which are present."""

    def __init__(self, meaning):
        super().__init__()
        self.meaning = meaning

    @property
    def sums(self):
        """Fact -> the sum of its multiplicities."""
        return {fact: sum(entries.values()) for fact, entries in self.items()}

    @property
    def iterations(self):
        """The last iteration with a multiplicity."""
        return max((max(entries) for entries in self.values()), default=0)

    def without(self, predicates):
        """The trace of all other predicates."""
        rest = Trace(self.meaning)
        rest.update((fact, each) for fact, each in self.items() if fact[0] not in predicates)
        return rest

    def add(self, iteration, multiplicities):
        """Add multiplicities of facts, unless they are zero."""
        for fact, multiplicity in multiplicities.items():
            if multiplicity:
                self.setdefault(fact, {})[iteration] = multiplicity
