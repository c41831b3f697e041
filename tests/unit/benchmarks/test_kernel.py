"""The kernel benchmark: a change that is undone leaves the state as it was, whatever it used."""

from __future__ import annotations

import numpy as np

from benchmarks.kernel import Lubm, same_state
from streamreasoner.rdf.dictionary import Dictionary


def test_a_state_is_compared_by_its_facts_not_by_its_memory():
    """It is the same after a change and its inverse, and another in between."""
    dictionary = Dictionary()
    ids = [dictionary.intern(f"<urn:{number}>") for number in range(40)]
    triples = np.array([(a, ids[0], b) for a in ids for b in ids], np.int32)
    kernel = Lubm(dictionary)
    kernel.apply(triples[:1000], 1)
    before = kernel.statistics()
    kernel.apply(triples[1000:], 1)
    between = kernel.statistics()
    kernel.apply(triples[1000:], -1)
    after = kernel.statistics()

    assert after.bytes != before.bytes
    assert after.capacity != before.capacity
    assert same_state(after, before)
    assert not same_state(between, before)
