"""Scans of the state against those of the model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import ModelBackend
from unit.backends.columnar.memory import FEW, REGIMES, Memory

from streamreasoner.backends.columnar import read_index
from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.records import select
from streamreasoner.history import by_argument

PROGRAMS = {
    2: "p(?x) :- e(?x, _), f(?x, _) .",
    4: "p(?a) :- e(?a, _, _, _), f(?a, _, _, _) .",
}


def traced(trace):
    """The sorted rows: arguments, iteration and multiplicity."""
    columns = trace.args, trace.iteration, trace.multiplicity
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def described(selection):
    """Fact -> stratum, since, until, asserted and total."""
    columns = (
        selection.stratum, selection.since, selection.until, selection.asserted, selection.total
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), strict=True)
    facts = list(map(tuple, selection.args.tolist()))
    assert len(set(facts)) == len(facts)
    return dict(zip(facts, rows, strict=True))


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data())
def test_scans_read_what_is_there(regime, data):
    """Facts, and traces and selections by any positions, are those of the model."""
    memory = Memory(PROGRAMS[regime.arity])
    model = ModelBackend(memory.program.plan, memory.backend._dictionary)  # noqa: SLF001
    # Few facts, so that each has many entries.
    pool = [*data.draw(regime.facts())[:3], *data.draw(regime.facts("f"))[:1]]
    for choice, iteration, multiplicity in data.draw(regime.steps()):
        memory.add(pool[choice % len(pool)], iteration, multiplicity)
        model.state.add(pool[choice % len(pool)], iteration, multiplicity)
    memory.settle(0)
    journal.commit(memory.table)
    model.state.settle_all(memory.program)
    relation, arity = memory.numbering.relations["e"], regime.arity
    args = np.empty((select.count(memory.table, relation), arity), np.int32)
    select.read_facts(memory.table, relation, args)
    together = memory.backend.facts_of(["f", "e"])
    assert sorted(together["e"].tolist()) == sorted(args.tolist())
    assert sorted(together["f"].tolist()) == sorted(memory.backend.facts("f").tolist())

    assert sorted(args.tolist()) == sorted(model.facts("e").tolist())
    assert traced(memory.backend.trace("e")) == traced(model.trace("e"))
    for _ in range(6):
        positions = data.draw(st.sets(st.integers(0, arity - 1)))
        bound = {at: data.draw(st.sampled_from(pool))[1][at] for at in positions}
        at = data.draw(st.integers(0, regime.last + 1))
        found = memory.backend.select("e", bound, at)
        assert described(found) == described(model.select("e", bound, at))
        assert traced(memory.backend.trace("e", bound)) == traced(model.trace("e", bound))
    facts = [args for predicate, args in pool if predicate == "e"]
    absent = [tuple(1_000 + i for i in args) for args in facts]
    # More facts than the kernel looks up at once.
    asked = np.array([*facts, *absent] * 20, np.int32).reshape(-1, arity)
    assert memory.backend.asserted("e", asked).tolist() == model.asserted("e", asked).tolist()


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@pytest.mark.parametrize(
    ("listed", "arrays", "scanned", "growth"),
    [(0, 2, 0, 1), (1 << 12, 1 << 8, 1 << 12, 4), (1 << 12, 1, 0, 4), (1 << 12, 0, 1, 1)],
    ids=["sorted again", "listed", "in one block", "in blocks"],
)
@FEW
@given(data=st.data())
def test_a_read_index_follows_epochs(  # noqa: PLR0917 - the sizes of an index
    regime, listed, arrays, scanned, growth, data
):
    """Within and after epochs, committed or rolled back, it finds what a pass over the facts does.

    And the multiplicities that the model has.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_index, "LISTED_LEAST", listed)
        patch.setattr(read_index, "ARRAYS", arrays)
        patch.setattr(read_index, "SCANNED", scanned)
        patch.setattr(read_index, "GROWTH", growth)
        patch.setattr(by_argument, "SHORT", data.draw(st.sampled_from((0, 256))))
        memory = Memory(PROGRAMS[regime.arity])
        model = ModelBackend(memory.program.plan, memory.backend._dictionary)  # noqa: SLF001
        # Facts that share arguments, and records of one size that are dropped and made again.
        pool = data.draw(regime.facts())
        steps = st.tuples(st.sampled_from(pool), st.integers(0, 1), st.sampled_from((1, -1, 2)))
        for _ in range(data.draw(st.integers(1, 5))):
            for fact, at, multiplicity in data.draw(st.lists(steps)):
                held = model.state.multiplicities.get(fact, {}).get(at)
                for each in (memory, model.state):
                    each.add(fact, at, -held if held else multiplicity)
                memory.settle(0)
                if data.draw(st.booleans()):
                    assert_found(memory, model, bound_to(data, pool))
            ends = "commit" if data.draw(st.booleans()) else "rollback"
            for each in (memory.backend, model):
                getattr(each, ends)()
            for _ in range(data.draw(st.integers(0, 3))):
                assert_found(memory, model, bound_to(data, pool))


def test_a_read_index_that_is_read_no_more_stays_small():
    """Epochs of one fact are not kept apart, each with an array of its own."""
    memory = Memory(PROGRAMS[2])
    memory.backend.select("e", {0: 1})
    for number in range(2 * read_index.ARRAYS):
        memory.add(("e", (number, 7)), 0, 1)
        memory.settle(0)
        memory.backend.commit()

    index = memory.state.reads
    assert len(index._fresh) <= read_index.ARRAYS  # noqa: SLF001
    assert len(memory.backend.select("e", {0: 2}).args) == 1


def bound_to(data, pool):
    """Ids of facts at some positions."""
    positions = st.sets(st.integers(0, len(pool[0][1]) - 1), min_size=1)
    return {at: data.draw(st.sampled_from(pool))[1][at] for at in data.draw(positions)}


def assert_found(memory, model, bound):
    """A selection has the facts that a pass over all of them finds, and a trace their rows."""
    found = memory.backend.select("e", bound).args
    records = read_index.scanned(memory.state, memory.numbering.relations["e"], bound)
    args = np.empty((len(records), found.shape[1]), np.int32)
    select.read_args(memory.table, records, args)
    assert sorted(found.tolist()) == sorted(args.tolist())
    assert traced(memory.backend.trace("e", bound)) == traced(model.trace("e", bound))


def test_a_selection_within_an_epoch_has_its_facts():
    """What has been added since the last commit is selected, and is gone after a rollback."""
    memory = Memory(PROGRAMS[2])
    memory.add(("e", (1, 2)), 0, 1)
    memory.settle(0)
    memory.backend.commit()
    assert memory.backend.select("e", {0: 1}).args.tolist() == [[1, 2]]
    memory.add(("e", (1, 3)), 0, 1)
    memory.settle(0)
    assert sorted(memory.backend.select("e", {0: 1}).args.tolist()) == [[1, 2], [1, 3]]
    memory.backend.rollback()
    assert memory.backend.select("e", {0: 1}).args.tolist() == [[1, 2]]
