"""The queue of deadlines against a list."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.engine.input.deadlines import Deadlines

TIMES = st.integers(-5_000, 5_000) | st.sampled_from([-(10**14), 10**14, 1023, 1024])


@given(
    st.lists(st.tuples(st.lists(st.tuples(st.integers(0, 9), TIMES), max_size=6), TIMES)),
)
def test_what_is_due_is_what_a_list_says(steps):
    """Facts are due until they are dropped, and none is lost or comes back."""
    queue, model, ids = Deadlines(2), [], 0
    for pushed, time in steps:
        facts = [(term, ids + number) for number, (term, _) in enumerate(pushed)]
        ids += len(facts)
        dues = [due for _, due in pushed]
        queue.push(np.array(facts, np.int32).reshape(-1, 2), np.array(dues, np.int64))
        model += zip(facts, dues, strict=True)
        expected = sorted(fact for fact, due in model if due <= time)

        assert sorted(map(tuple, queue.due(time).tolist())) == expected
        assert queue.due(time).dtype == np.int32
        queue.drop(time)
        model = [(fact, due) for fact, due in model if due > time]
        assert not len(queue.due(time))
        assert (queue.first is None) == (not model)
        assert queue.earliest() == min((due for _, due in model), default=None)
