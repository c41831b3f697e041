"""Heads logged from targets against those of a walk through the group."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import DENSE, FEW, Memory
from unit.backends.columnar.test_derive import TERMS

from streamreasoner.backends.columnar.kernels.joining import derive, probe
from streamreasoner.backends.columnar.kernels.loading import log, targets
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.settling import settle

TARGETED = (
    "d(?y, min(?l)) :- d(?x, ?l), e(?x, ?y) .",
    "d(?x, min(?l)) :- d(?y, ?l), e(?x, ?y) .",
    "d(?y, min(?x)) :- d(?x, _), e(?x, ?y) .",
    "d(?y, min(?l)) :- d(?l, ?x), e(?x, ?y) .",
    "d(?y, min(?l)) :- p(?x, ?l), f(?x, ?y, 2) .",
)
OTHER = (
    "d(?y, min(2)) :- d(?x, _), e(?x, ?y) .",
    "d(?y, min(?l)) :- d(_, ?l), e(2, ?y) .",
    "d(?x, min(?y)) :- d(?x, _), e(?x, ?y) .",
    "d(?x, min(?l)) :- d(?x, ?l), d(?l, _) .",
    "d(?y, min(?l)) :- d(?x, ?l), e(?x, ?y), ?x < ?y .",
    "d(?y, min(?l)) :- d(?x, ?l), p(?x, ?y) .",
    "p(?x, ?l) :- d(?x, ?l) .",
    "p(?x, ?l) :- d(?l, ?x), e(?x, ?l) .",
)


def entered(choices):
    """A memory with asserted facts, whose stratum is entered; its heads are logged."""
    memory = Memory("\n".join(TARGETED + OTHER))
    for term in TERMS:
        memory.program.terms.id(term)
    for fact, multiplicity in choices:
        assert memory.add(fact, 0, multiplicity) == layout.OK
    memory.settle(0)
    settle.enter(memory.table, 1)
    assert log.begin(memory.table, memory.state.tables.logged[1])
    return memory


def logged(memory, run):
    """The rows that a call logs, and the heads that it counts; the rows are dropped again."""
    count, firings = int(memory.scalars[layout.LOG_COUNT]), memory.firings()
    assert run() == layout.OK
    end = int(memory.scalars[layout.LOG_COUNT])
    memory.scalars[layout.LOG_COUNT] = count
    words = memory.reserved(layout.LOG)[layout.LOG_WIDTH * count : layout.LOG_WIDTH * end]
    return Counter(map(tuple, words.reshape(-1, layout.LOG_WIDTH).tolist())), (
        memory.firings() - firings
    )


def test_plans_that_take_the_key_of_a_match_have_targets():
    """Those whose group may change, or that test a match, have none."""
    memory = entered([])
    found = memory.plans[:, layout.PLAN_TARGETS]

    assert sorted(found[found != 0].tolist()) == list(range(1, len(TARGETED) + 1))
    assert len(memory.state.tables.targeted[1]) == len(TARGETED)


def test_targets_are_what_a_walk_finds():
    """For any fact that drives a plan, alone or together with the one that it replaces."""
    found = []

    @FEW
    @given(data=st.data())
    def law(data):
        edges, wide = data.draw(DENSE.facts()), data.draw(DENSE.facts("f", 3))
        # Ids of terms begin with 0.
        pool = [(name, tuple(cell - 1 for cell in args)) for name, args in edges + wide]
        signs = st.sampled_from((1, 1, 1, 2, -1))
        winners = [("d", (key, value)) for key in range(8) for value in (1, 2)]
        facts = [(fact, data.draw(signs)) for fact in pool]
        # Of few facts there are no targets.
        present = winners + [("e", (cell, 8)) for cell in range(8)]
        memory = entered(facts + [(fact, 1) for fact in present])
        ids = len(memory.backend._dictionary)  # noqa: SLF001
        targets.collect(memory.table, memory.state.tables.targeted[1], ids)
        assert memory.scalars[layout.TARGET_STRIDE] == ids + 2
        assert settle.settle(memory.table, memory.values, 0) == layout.OK
        assert derive.derive(memory.table, memory.values, 0) == layout.OK
        iteration, sign = data.draw(st.integers(1, 3)), data.draw(st.sampled_from((1, -1)))
        records = {fact: record.address for fact, record in memory.records().items()}
        for number, row in enumerate(memory.plans):
            if row[layout.PLAN_TARGETS] == 0:
                continue
            key, p = int(row[layout.PLAN_PROBE_KEY]), number * layout.PLAN_WIDTH
            for (_, cells), at in ((fact, records[fact]) for fact in winners[::2]):
                group = (~key if key < 0 else cells[key],)
                match = np.int32(memory.first(row[layout.PLAN_PROBE] - 1, group)[0])
                replaced = records["d", (cells[0], 2)]
                for lost in (0, replaced) if key != 1 else (0,):
                    call = at, match, sign, iteration, lost
                    walked = logged(memory, partial(probe.run_probe, memory.table, p, *call))
                    call = at, sign, iteration, lost
                    rows = logged(memory, partial(targets.log_targets, memory.table, p, *call))
                    assert rows == walked
                    found.append(rows[0].total())

    law()

    assert sum(found) > len(found) // 4


def test_few_facts_of_many_terms_have_no_targets():
    """The places of groups would be more than the facts."""
    memory = entered([(("e", (1, 2)), 1), (("e", (2, 3)), 1)])
    targets.collect(memory.table, memory.state.tables.targeted[1], 8)
    assert memory.scalars[layout.TARGET_STRIDE] == 0
    targets.collect(memory.table, memory.state.tables.targeted[1], 6)
    assert memory.scalars[layout.TARGET_STRIDE] == 8


def test_targets_beyond_their_share_of_the_memory_are_not_collected():
    """The plans then walk the groups."""
    memory = entered([(("e", (1, 2)), 1), (("e", (2, 3)), 1)])
    memory.scalars[layout.TARGET_LIMIT] = 8 * len(TARGETED) - 1
    targets.collect(memory.table, memory.state.tables.targeted[1], 6)
    assert memory.scalars[layout.TARGET_STRIDE] == 0
