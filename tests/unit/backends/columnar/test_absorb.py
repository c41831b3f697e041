"""The best values of groups against a loop over the rows of the log."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from oracle.aggregates import order
from unit.backends.columnar.memory import FEW
from unit.backends.columnar.test_log import ASSERTED, KEYS, begin, loaded

from streamreasoner.backends.columnar.kernels.loading import absorb
from streamreasoner.backends.columnar.kernels.records import layout, pending
from streamreasoner.backends.columnar.kernels.settling import settle

ROWS = st.lists(st.tuples(st.integers(0, 8), st.sampled_from((1, 1, 2, -1, -3))), max_size=12)
"""The number of a head, and its multiplicity."""


class Load:
    """A memory whose log is open, and whose asserted facts are settled.

    Attributes:
        memory: The memory.
        model: What has been added to it, as dicts.
        pool: Possible heads: each key with each value.
    """

    def __init__(self, asserted=(), limit=100):
        self.memory, self.model, self.pool = loaded(limit, asserted)
        assert begin(self.memory)
        assert settle.next_touched(self.memory.table, -1) <= 0
        assert settle.settle(self.memory.table, self.memory.values, 0) == layout.OK
        settle.clear_deltas(self.memory.table)
        self.model.settle(self.memory.program, 1, 0)

    def push(self, rows, iteration=1):
        """Log heads."""
        relation = self.memory.numbering.relations["e"]
        for choice, multiplicity in rows:
            cells = np.array(self.pool[choice][1], np.int32)
            kind = pending.UNKNOWN
            table = self.memory.table
            status = pending.push(table, relation, cells, 0, iteration, multiplicity, kind)
            assert status == layout.OK
            self.model.add(self.pool[choice], iteration, multiplicity)

    def fields(self, key):
        """The first unit of the fields of a group, or None if there is no such group."""
        (lattice,) = self.memory.program.plan.lattices
        number = self.memory.numbering.groupings[lattice]
        _, group = self.memory.first(number, (key,))
        return group + (layout.GROUP_KEY + 2) // 2 if group else None

    def value(self, key, field):
        """A value of a group, which has it plus 1; None for 0."""
        at = self.fields(key)
        found = int(self.memory.state.units[at + field]) - 1 if at is not None else -1
        return None if found < 0 else found

    def rank(self, value):
        """The place of a value in the order of a minimum."""
        return order(self.memory.program.terms.text(value))

    def listed(self):
        """The keys of the groups that are listed, each once."""
        changed = self.memory.reserved(layout.LOG_CHANGED)
        count = int(self.memory.scalars[layout.LOG_CHANGED_COUNT])
        groups = [int(each) & 0xFFFFFFFF for each in changed[:count]]
        keys = [int(self.memory.words[2 * group + layout.GROUP_KEY]) for group in groups]
        assert len(keys) == len({*keys})
        return {*keys}


def expected(load, asserted, rows):
    """Key -> its best value and the best one that is lost; and the keys to decide."""
    best, lost, listed = {}, {}, set()
    for choice in asserted:
        key, value = load.pool[choice][1]
        best[key] = min(value, best.get(key, value), key=load.rank)
    for choice, multiplicity in rows:
        key, value = load.pool[choice][1]
        held = best.get(key)
        if multiplicity > 0 and (held is None or load.rank(value) < load.rank(held)):
            best[key] = value
            listed.add(key)
        if multiplicity < 0 and (held is None or load.rank(value) <= load.rank(held)):
            lost[key] = min(value, lost.get(key, value), key=load.rank)
            listed.add(key)
    return best, lost, listed


@FEW
@given(asserted=ASSERTED, rows=ROWS, cut=st.integers(0, 12))
def test_a_group_knows_the_best_of_all_its_rows(asserted, rows, cut):
    """Beginning with its winner, whether rows are absorbed at once or in two parts."""
    load = Load(asserted)
    for part in (rows[:cut], rows[cut:]):
        load.push(part)
        assert absorb.absorb(load.memory.table) == layout.OK
    best, lost, listed = expected(load, asserted, rows)
    met = {load.pool[choice][1][0] for choice, _ in rows}
    for key in met:
        assert load.value(key, layout.LOG_BEST) == best.get(key)
        assert load.value(key, layout.LOG_LOST) == lost.get(key)
        numbers = [n for choice, n in rows if load.pool[choice][1][0] == key]
        assert ~int(load.memory.state.units[load.fields(key) + layout.LOG_PLACE]) == len(numbers)
    assert load.listed() == listed
    scalars = load.memory.scalars
    assert scalars[layout.LOG_GROUP_COUNT] == len(met)
    assert scalars[layout.LOG_ABSORBED] == scalars[layout.LOG_COUNT] == len(rows)


def test_full_memory_is_told():
    """A group that is new needs room."""
    load = Load()
    load.push([(0, 1)])
    load.memory.scalars[layout.CAPACITY] = load.memory.scalars[layout.TOP]
    assert absorb.absorb(load.memory.table) == layout.FULL
    assert load.fields(KEYS[0]) is None
