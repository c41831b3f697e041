"""The outbox of a part, called by itself: a dict of sums says what others fetch from it."""

from __future__ import annotations

import gc
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.parts import outbox
from streamreasoner.backends.parts.part import parts_of
from streamreasoner.backends.store import parts_backend
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary

PARTS = 3
PROGRAM = "e(?x, ?y) :- f(?x), g(?x, ?y, ?y) ."
ARITIES = {"e": 2, "f": 1, "g": 3}
LARGE = 1 << 40


@settings(max_examples=500 if THOROUGH else 12)
@given(
    st.integers(0, PARTS - 1),
    st.lists(st.integers(0, 500), min_size=1, max_size=2),
    st.randoms(use_true_random=False),
)
def test_owners_fetch_the_sums(sender, sizes, random):
    """Whatever is posted, and however often it is emptied: sums by fact and iteration arrive."""
    gc.collect()  # earlier states hold address space, in circles
    dictionary = Dictionary()
    plan = lower(check_text(PROGRAM))
    backend = parts_backend(plan, dictionary, PARTS)
    part = backend.parts.parts[sender]
    relations = part.compiled[0].relations
    expected = Counter()
    for size in sizes:
        for _ in range(size):
            name = random.choice(sorted(ARITIES))
            cells = np.array([random.randrange(12) for _ in range(ARITIES[name])], np.int32)
            if parts_of(cells[:1], PARTS)[0] == sender:
                continue
            iteration = random.randrange(4)
            count = random.choice((1, 1, -1, 2, LARGE, -LARGE))
            status = outbox.post(part.table, relations[name], cells, 0, iteration, count)

            assert status == layout.OK

            expected[name, tuple(cells.tolist()), iteration] += count
        for each in backend.parts.parts:
            each.fetch_heads(backend.parts.addresses)
        part.empty_outbox()

    assert found(backend) == {row: count for row, count in expected.items() if count}


def found(backend):
    """The multiplicities that owners have, by fact and iteration."""
    rows = {}
    for number, part in enumerate(backend.parts.parts):
        for name in ARITIES:
            trace = part.trace(name)
            assert (parts_of(trace.args[:, 0], PARTS) == number).all()
            for args, iteration, count in zip(
                *(trace.args.tolist(), trace.iteration.tolist(), trace.multiplicity.tolist()),
                strict=True,
            ):
                rows[name, tuple(args), iteration] = count
    return rows
