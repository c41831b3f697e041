"""Edges as input of a backend of dicts, and what the backend then holds."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from oracle.arithmetic import numeral

from streamreasoner.engine.updates import Updates

EDGES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.sampled_from((1, 1, 1, -1, 2)))
"""(x, y, multiplicity) of `e(x, y)`."""


def unguarded(guarded):
    """The order of negation in a stratum: the programs of these tests leave none to decide."""
    raise AssertionError(guarded)


def assert_edges(backend, terms, edges):
    """Add edges as input; returns them as updates of the oracle."""
    updates = [(("e", (numeral(x), numeral(y))), count) for x, y, count in edges]
    for (predicate, args), count in updates:
        ids = np.array([[terms.id(term) for term in args]], np.int32)
        backend.add(Updates(predicate, ids, np.array([count])))
    return updates


def visible(backend, terms):
    """The trace: fact -> {iteration: multiplicity}, of predicates that are not hidden."""
    return {
        (name, tuple(map(terms.text, args))): entries
        for (name, args), entries in backend.state.multiplicities.items()
        if name not in backend.program.plan.hidden
    }
