"""Changes, commit and rollback against copies of a state of dicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import State
from model.state import difference
from unit.backends.columnar.memory import FEW, REGIMES, Memory

from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.records import layout

# Rollbacks arrange facts of `e`, and commits withdraw them.
PROGRAMS = {
    2: "p(?x, ?z) :- e(?x, ?y), e(?y, ?z) .",
    4: "p(?a, ?f) :- e(?a, ?b, ?c, _), e(_, ?b, ?c, ?f) .",
}


def changes_of(memory):
    """Derived changes, changes of the closure and trace differences, as the journal has them."""
    changes = memory.backend.changes()
    derived, closure = (
        {
            (part.predicate, tuple(args)): sign
            for part in parts
            for args, sign in zip(part.args.tolist(), part.multiplicity.tolist(), strict=True)
        }
        for parts in (changes.derived, changes.closure)
    )
    trace = {}
    for part in changes.trace:
        for args, iteration, number in zip(
            part.args.tolist(), part.iteration.tolist(), part.multiplicity.tolist(), strict=True
        ):
            entries = trace.setdefault((part.predicate, tuple(args)), {})
            assert iteration not in entries
            entries[iteration] = number
    return derived, closure, trace


def signed(before, after):
    """Fact -> 1 or -1, of the facts that only one of two sets has."""
    return {fact: 1 if fact in after else -1 for fact in before ^ after}


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data(), ends=st.lists(st.booleans(), min_size=1, max_size=5))
def test_an_epoch_is_kept_or_undone(regime, data, ends):
    """Its changes are differences of states; a commit keeps the new one, a rollback the old."""
    pool = data.draw(regime.facts())
    keep_or_undo(PROGRAMS[regime.arity], pool, regime.steps(), data, ends)


LARGE = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from((0, 1, *range(layout.HIGH_ITERATION - 1, layout.HIGH_ITERATION + 2))),
        st.sampled_from((1, -1, layout.LARGEST, -layout.LARGEST, 1 << 40, -(1 << 40))),
    ),
    max_size=8,
)


@FEW
@given(data=st.data(), ends=st.lists(st.booleans(), min_size=1, max_size=5))
def test_so_is_an_epoch_of_large_numbers(data, ends):
    """Entries have no room for some of them: these have records that end with their entries."""
    keep_or_undo(PROGRAMS[2], [("e", (1, 2)), ("e", (2, 3))], LARGE, data, ends)


def keep_or_undo(program, pool, steps, data, ends):
    """Add to facts of a pool in some epochs, each of which is kept or undone, and check them."""
    memory, before = Memory(program), State()
    for commits in ends:
        after = before.copy()
        for choice, iteration, multiplicity in data.draw(steps):
            memory.add(pool[choice % len(pool)], iteration, multiplicity)
            after.add(pool[choice % len(pool)], iteration, multiplicity)
        settled = commits or data.draw(st.booleans())
        if settled:
            memory.settle(0)
            after.settle_all(memory.program)

            assert changes_of(memory) == (
                signed(before.present - before.asserted, after.present - after.asserted),
                signed(before.present, after.present),
                difference(after.multiplicities, before.multiplicities),
            )
        if commits:
            journal.commit(memory.table)
            before = after
        else:
            assert journal.rollback(memory.table, memory.values) == layout.OK
        assert_committed(memory, before)


def assert_committed(memory, model):
    """Memory holds the state of the model, and nothing of an epoch."""
    assert memory.numbers("multiplicity") == model.multiplicities
    assert memory.numbers("transition") == model.transitions
    assert memory.touched() == {}
    assert changes_of(memory) == ({}, {}, {})
    for fact, record in memory.records().items():
        assert record.flags & (layout.FRESH | layout.DELTA_BITS | layout.NOTED_BITS) == 0
        state = memory.words[2 * record.address + layout.ENTRY_STATE]
        assert state & layout.FACT_JOURNALED == 0
        assert not any(each.touched or each.journaled for each in record.entries.values())
        assert record.entries.keys() == model.multiplicities[fact].keys()
    sizes = [layout.PRESENT, layout.ASSERTED, layout.BELOW_ZERO, layout.TRACE_ROWS]
    assert memory.scalars[sizes].tolist() == [
        len(model.present),
        len(model.asserted),
        sum(model.total(fact) < 0 for fact in model.multiplicities),
        sum(map(len, model.multiplicities.values())),
    ]
    memory.assert_no_unit_is_lost()
