"""The open-addressing table against a transparent model: a set of ids."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.backends.columnar.kernels.records import layout, slots

MASK = 15


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=60))
def test_put_and_remove_agree_with_a_set(steps):
    """After any puts and removes, each id is reachable from its home slot without a gap."""
    table = np.zeros(MASK + 1, np.int64)
    present = set()
    for number, add in steps:
        # Few tags, so that most ids collide and wrap around the end of the table.
        identifier, tag = number + 1, 13 + number % 5
        if add and identifier not in present and len(present) < MASK:
            slots.put(table, MASK, tag, identifier)
            present.add(identifier)
        elif not add and identifier in present:
            slots.remove(table, MASK, tag, identifier)
            present.remove(identifier)

        assert sorted(table[table != 0] & layout.LOW) == sorted(present)
        for member in present:
            assert member in _probe(table, 13 + (member - 1) % 5)


@given(st.lists(st.integers(1, 10_000), unique=True, max_size=9))
def test_rehash_moves_every_slot(identifiers):
    """A larger table holds the same slots, each reachable from its home."""
    table = np.zeros(MASK + 1, np.int64)
    wide = np.full(2 * (MASK + 1), -1, np.int64)
    for identifier in identifiers:
        slots.put(table, MASK, identifier * 7, identifier)
    slots.rehash(table, MASK, wide, 2 * MASK + 1)

    assert sorted(wide[wide != 0]) == sorted(table[table != 0])
    for identifier in identifiers:
        assert identifier in _probe(wide, identifier * 7)


def _probe(table, tag):
    """The ids that a lookup visits before the first empty slot."""
    identifiers = []
    i = tag % len(table)
    while table[i]:
        identifiers.append(table[i] & layout.LOW)
        i = (i + 1) % len(table)
    return identifiers
