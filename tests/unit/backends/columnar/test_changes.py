"""Blocks of changes against differences of a state of dicts."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from model import State
from model.state import difference
from unit.backends.columnar.memory import FEW, Memory

from streamreasoner.backends.columnar.kernels.epoch import changes, journal

# Predicates of three arities, and a hidden one for what is negated.
TEXT = """
p(?x, ?z) :- e(?x, ?y), e(?y, ?z) .
t(?x, ?y, ?z) :- e(?x, ?y), p(?x, ?z) .
q(?x) :- p(?x, _), not e(_, ?x) .
"""
STEPS = st.lists(
    st.tuples(
        st.integers(0, 100),
        st.tuples(*[st.integers(1, 3)] * 3),
        st.integers(0, 2),
        st.sampled_from((1, 1, 2, -1, -2)),
    ),
    max_size=16,
)
"""The number of a predicate, three ids, an iteration and a multiplicity."""


class Epochs:
    """A memory and a model that get the same additions, settled without deriving."""

    def __init__(self):
        self.memory, self.model = Memory(TEXT), State()
        self.relations = list(self.memory.numbering.relations)
        assert self.memory.program.plan.hidden

    def add(self, steps):
        """Add to multiplicities, and settle all facts."""
        for choice, ids, iteration, multiplicity in steps:
            predicate = self.relations[choice % len(self.relations)]
            fact = predicate, ids[: self.memory.numbering.arities[predicate]]
            self.memory.add(fact, iteration, multiplicity)
            self.model.add(fact, iteration, multiplicity)
        for stratum in range(len(self.memory.program.plan.strata) + 1):
            self.memory.settle(stratum)
        self.model.settle_all(self.memory.program)

    def read(self):
        """Collection -> number of a relation -> its rows, checking where they lie."""
        shape = changes.COLLECTIONS, len(self.relations)
        places = np.full(shape, 77, np.int64)
        blocks = np.zeros((changes.ENDS + places.size, changes.BLOCK_WIDTH), np.int64)
        count = changes.count_changes(self.memory.table, places, blocks)
        found = blocks[changes.ENDS :][:count].tolist()
        kinds = [(block[0] == changes.TRACE, block[1], block[0]) for block in found]
        assert kinds == sorted(kinds)
        ends = [[0, 0], [0, 0]]
        for collection, relation, size, arity, *at in found:
            assert size > 0
            assert arity == self._arity(relation)
            end = ends[collection == changes.TRACE]
            assert at == end
            end[0] += size
            end[1] += size * arity
        assert blocks[: changes.ENDS, changes.ROW :].tolist() == ends
        (rows, cells), (differences, trace_cells) = ends
        args = np.full(cells, -1, np.int32), np.full(trace_cells, -1, np.int32)
        signs, numbers = np.zeros(rows, np.int8), np.zeros(differences, np.int64)
        times = np.full(differences, -1, np.int32)
        changes.read_changes(
            self.memory.table, places, blocks, args[0], signs, args[1], times, numbers
        )
        values = signs.tolist(), list(zip(times.tolist(), numbers.tolist(), strict=True))
        result = [{} for _ in range(changes.COLLECTIONS)]
        for (collection, relation, size, arity, row, cell), after in zip(
            found, blocks[changes.ENDS :][:count].tolist(), strict=True
        ):
            assert after[changes.ROW :] == [row + size, cell + size * arity]
            which = int(collection == changes.TRACE)
            own = args[which][cell : cell + size * arity].reshape(size, arity).tolist()
            result[collection][self.relations[relation]] = list(
                zip(map(tuple, own), values[which][row : row + size], strict=True)
            )
        return result

    def _arity(self, relation):
        return self.memory.numbering.arities[self.relations[relation]]


def by_predicate(rows):
    """Predicate -> arguments and values, in an order of their own."""
    found = defaultdict(list)
    for (predicate, args), value in rows:
        found[predicate].append((args, value))
    return {predicate: sorted(each) for predicate, each in found.items()}


def signed(before, after, hidden):
    """1 or -1 for each visible fact that only one of two sets has."""
    changed = before ^ after
    return by_predicate((f, 1 if f in after else -1) for f in changed if f[0] not in hidden)


@FEW
@given(epochs=st.lists(STEPS, min_size=1, max_size=4))
def test_blocks_have_what_states_differ_in(epochs):
    """Of facts that are new and of those that are not; hidden ones are in the trace only."""
    state = Epochs()
    hidden = state.memory.program.plan.hidden
    for steps in epochs:
        before = state.model.copy()
        state.add(steps)
        after = state.model
        both, derived, closure, trace = (
            {name: sorted(rows) for name, rows in each.items()} for each in state.read()
        )
        assert both | derived == signed(
            before.present - before.asserted, after.present - after.asserted, hidden
        )
        assert both | closure == signed(before.present, after.present, hidden)
        assert not any(derived[name] == closure[name] for name in derived.keys() & closure.keys())
        assert not both.keys() & (derived.keys() | closure.keys())
        assert trace == by_predicate(
            (fact, (iteration, number))
            for fact, entries in difference(after.multiplicities, before.multiplicities).items()
            for iteration, number in entries.items()
        )
        journal.commit(state.memory.table)
        assert state.read() == [{}] * changes.COLLECTIONS
