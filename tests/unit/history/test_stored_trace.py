"""A stored trace is the sum of what was appended, however it lies in blocks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.engine.updates import TraceRows
from streamreasoner.history import by_argument
from streamreasoner.history.replica.stored_trace import StoredTrace

ARITY = 3
ROWS = st.lists(
    st.tuples(
        st.tuples(*[st.integers(0, 3)] * ARITY),
        st.sampled_from([0, 1, 200, 40_000]),
        st.sampled_from([1, -1, 2, -2, 300, -(1 << 40)]),
    ),
    max_size=12,
)


def trace_rows(rows):
    """Rows of ids, iterations and multiplicities as an epoch has them."""
    args = np.array([each[0] for each in rows], np.int32).reshape(-1, ARITY)
    iterations = np.array([each[1] for each in rows], np.int32)
    return TraceRows("p", args, iterations, np.array([each[2] for each in rows], np.int64))


def listed(found):
    """What was found, each row once and in order."""
    rows = list(zip(map(tuple, found.args.tolist()), found.iteration.tolist(), strict=True))
    assert rows == sorted(set(rows))
    return dict(zip(rows, found.multiplicity.tolist(), strict=True))


@given(epochs=st.lists(st.lists(ROWS, max_size=2), max_size=8), data=st.data())
def test_a_stored_trace_is_the_sum_of_its_rows(epochs, data):
    """Whatever is asked for, and of each earlier trace as before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_argument, "SHORT", data.draw(st.sampled_from((0, 256))))
        traces, sums = [StoredTrace(ARITY)], [Counter()]
        for epoch in epochs:
            traces.append(traces[-1].appended(list(map(trace_rows, epoch))))
            sums.append(Counter(sums[-1]))
            for args, iteration, multiplicity in (row for rows in epoch for row in rows):
                sums[-1][args, iteration] += multiplicity
        for trace, counts in zip(traces, sums, strict=True):
            expected = {row: count for row, count in counts.items() if count}
            assert listed(trace.all()) == expected
            positions = data.draw(st.sets(st.integers(0, ARITY - 1)))
            bound = {at: data.draw(st.integers(0, 3)) for at in positions}
            assert listed(trace.having(bound)) == {
                (args, iteration): count
                for (args, iteration), count in expected.items()
                if all(args[at] == value for at, value in bound.items())
            }
            width = data.draw(st.integers(0, ARITY))
            keys = data.draw(st.sets(st.tuples(*[st.integers(0, 4)] * width), max_size=4))
            rows = np.array(sorted(keys), np.int32).reshape(len(keys), width)
            if width:
                assert listed(trace.beginning_with(rows)) == {
                    (args, iteration): count
                    for (args, iteration), count in expected.items()
                    if args[:width] in keys
                }
