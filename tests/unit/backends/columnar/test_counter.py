"""Sizes of groups that are only counted against the facts that a dict has."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW, Memory

from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.joining import derive
from streamreasoner.backends.columnar.kernels.records import counter, layout
from streamreasoner.backends.columnar.kernels.settling import settle
from streamreasoner.native.compile import kernel

TEXT = """
p(?x, ?y) :- e(?x, ?y), f(?y, _), f(_, _), f(2, _) .
q(?x) :- e(?x, ?y), e(_, ?x), f(?y, _) .
r(?x) :- p(?x, ?y), e(?y, _), q(?y), f(_, ?x) .
"""
TWO = '"2"^^<http://www.w3.org/2001/XMLSchema#integer>'
COUNTED = {
    1: [("f", None, 0), ("f", None, None), ("f", 0, None)],
    2: [("e", None, 1), ("f", None, 0)],
    3: [("e", None, 0), ("f", None, 1)],
}
"""By stratum, what its rules count: a predicate, the position of the constant 2, and of the key."""
KEYS = range(1, 9)
FACTS = [(name, (x, y)) for name in "ef" for x in KEYS for y in KEYS]
CHANGES = st.lists(st.tuples(st.sampled_from(FACTS), st.sampled_from((1, 1, 2, -1))), max_size=14)


@kernel
def show(table, fact, change):
    """Count a change of a fact in the present stratum."""
    counter.count_change(table, fact, change)


@kernel
def size(table, number, key, fact, old):
    """The size of a group while a fact drives a plan."""
    return counter.size(table, number, key, fact, old)


class Counts:
    """A memory, and a dict of what has been added to each of its facts."""

    def __init__(self):
        self.memory = Memory(TEXT)
        self.two = self.memory.program.terms.id(TWO)
        self.sums = Counter()

    def add(self, changes):
        """Assert facts."""
        for fact, multiplicity in changes:
            assert self.memory.add(fact, 0, multiplicity) == layout.OK
            self.sums[fact] += multiplicity

    @property
    def present(self):
        """The facts with a positive sum."""
        return {fact for fact, total in self.sums.items() if total > 0}

    def expected(self, stratum, present):
        """The sizes of the groups of a stratum, of each counter; without zeros."""
        found = []
        for name, constant, key in COUNTED[stratum]:
            members = [
                args
                for predicate, args in present
                if predicate == name and (constant is None or args[constant] == self.two)
            ]
            found.append(Counter(0 if key is None else args[key] for args in members))
        return ordered(found)

    def sizes(self, stratum):
        """The same, as the counters have it."""
        return ordered(self.counter(number) for number in self.numbers(stratum))

    def counter(self, number):
        """Key -> size."""
        column = self.memory.state._counters[number].array  # noqa: SLF001 - to read it
        return Counter({key: count for key, count in enumerate(column[:10].tolist()) if count})

    def numbers(self, stratum):
        """The counters of a stratum."""
        rows = self.memory.state.column(layout.COUNTED).reshape(-1, layout.COUNTED_WIDTH)
        of_stratum = rows[rows[:, layout.COUNTED_STRATUM] == stratum]
        return sorted({*of_stratum[:, layout.COUNTED_COUNTER].tolist()})

    def finish_epoch(self):
        """Settle and derive in all strata, and commit."""
        for stratum in (0, *COUNTED):
            self.memory.settle(stratum, derives=True)
        journal.commit(self.memory.table)


def ordered(counters):
    """Counters in an order of their own, as their numbers mean nothing."""
    return sorted(sorted(each.items()) for each in counters)


@FEW
@given(epochs=st.lists(CHANGES, min_size=1, max_size=4))
def test_counters_hold_the_sizes_of_groups_of_present_facts(epochs):
    """After every epoch, in every stratum; and if they are counted again from the transitions."""
    counts = Counts()
    for changes in epochs:
        counts.add(changes)
        counts.finish_epoch()
        expected = [counts.expected(stratum, counts.present) for stratum in COUNTED]
        assert [counts.sizes(stratum) for stratum in COUNTED] == expected
    counts.memory.state.recount()
    assert [counts.sizes(stratum) for stratum in COUNTED] == expected


@FEW
@given(before=CHANGES, changes=CHANGES, stop=st.integers(1, 3), applied=st.integers(0, 14))
def test_what_an_epoch_has_counted_is_subtracted(before, changes, stop, applied):
    """Wherever it fails: in any stratum, after any number of its deltas."""
    counts = Counts()
    counts.add(before)
    counts.finish_epoch()
    kept = counts.present
    counts.add(changes)
    memory = counts.memory
    for stratum in range(stop):
        memory.settle(stratum, derives=True)
    settle.enter(memory.table, stop)
    iteration = settle.next_touched(memory.table, -1)
    if iteration >= 0:
        assert settle.settle(memory.table, memory.values, iteration) == layout.OK
        count = min(applied, int(memory.scalars[layout.DELTA_COUNT]))
        status = derive.apply_deltas(memory.table, memory.values, 0, count, iteration)
        assert status == layout.OK
    counter.uncount(memory.table)
    assert [counts.sizes(stratum) for stratum in COUNTED] == [
        counts.expected(stratum, kept) for stratum in COUNTED
    ]


@pytest.mark.parametrize("stratum", COUNTED)
@FEW
@given(before=CHANGES, changes=CHANGES, block=st.integers(0, 5))
def test_a_size_is_read_with_a_delta_and_without(stratum, before, changes, block):
    """Each fact, and each block of facts, sees groups with its own delta, or as they were."""
    counts = Counts()
    counts.add(before)
    counts.finish_epoch()
    counts.add(changes)
    memory = counts.memory
    for lower in range(stratum):
        memory.settle(lower, derives=True)
    settle.enter(memory.table, stratum)
    if settle.next_touched(memory.table, -1) != 0:
        return
    assert settle.settle(memory.table, memory.values, 0) == layout.OK
    numbers = counts.numbers(stratum)

    def all_sizes(fact, *, old):
        """The sizes of all groups, of each counter."""
        return [[size(memory.table, n, key, fact, old) for key in range(10)] for n in numbers]

    def column_sizes():
        return [[counts.counter(n)[key] for key in range(10)] for n in numbers]

    changed = memory.deltas()
    deltas = [memory.find(fact) for fact in changed]
    alone, together = deltas[block:], deltas[:block]
    for fact in alone:
        earlier = column_sizes()
        show(memory.table, fact, changed[memory.fact(fact)])
        assert all_sizes(fact, old=True) == earlier
        assert all_sizes(fact, old=False) == column_sizes()
    if together:
        earlier = column_sizes()
        for fact in together:
            show(memory.table, fact, changed[memory.fact(fact)])
        # Each delta has the number + 1 of the next one.
        memory.reserved(layout.BLOCK_NEXT)[: len(together)] = np.arange(2, len(together) + 2)
        memory.reserved(layout.BLOCK_NEXT)[len(together) - 1] = 0
        memory.scalars[layout.BLOCK] = 1
        assert all_sizes(together[0], old=True) == earlier
        assert all_sizes(together[0], old=False) == column_sizes()
    assert counts.sizes(stratum) == counts.expected(stratum, counts.present)
