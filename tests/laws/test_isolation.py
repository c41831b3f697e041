"""Isolation leaves out exactly the messages that fail a batch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.pipeline.failing.isolation import MAX_TRIALS, NOT_TRIED, PARTS, isolate

SETS = st.lists(st.frozensets(st.integers(0, 199), min_size=1, max_size=3), max_size=5)


class Batch:
    """Fails on given combinations of messages, and counts trials."""

    def __init__(self, culprits):
        self.culprits = culprits
        self.trials = 0

    def __call__(self, accepted, part):
        """The first failing combination contained in these rows, or None."""
        self.trials += 1
        assert part
        rows = [*accepted, *part]
        assert rows == sorted(set(rows))
        contained = [culprit for culprit in self.culprits if culprit <= set(rows)]
        return str(sorted(contained[0])) if contained else None


@given(st.integers(0, 200), SETS)
def test_the_rest_passes_and_isolation_is_minimal(count, culprits):
    """Each isolated message fails together with the accepted messages before it."""
    batch = Batch(culprits)
    left_out = isolate(count, batch)
    rest = [row for row in range(count) if row not in left_out]
    assert not rest or Batch(culprits)([], rest) is None
    for row, why in left_out.items():
        before = [accepted for accepted in rest if accepted < row]
        assert Batch(culprits)(before, [row]) is not None
        assert why in {str(sorted(culprit)) for culprit in culprits}


@given(st.integers(1, 10**5), st.data())
def test_one_message_takes_few_trials(count, data):
    """A single failing message costs at most one failed trial per level, plus one."""
    culprit = data.draw(st.integers(0, count - 1))
    failures = 0

    def fails(_, part):
        nonlocal failures
        failures += culprit in part
        return "no" if culprit in part else None

    assert isolate(count, fails) == {culprit: "no"}
    levels = next(n for n in range(1, 20) if PARTS**n >= count)
    assert failures <= levels + 1


@given(st.integers(1, 3000), st.integers(0, 40))
def test_the_search_ends(count, most):
    """If all messages fail, all are left out, and those never tried are marked as such."""
    batch = Batch([frozenset({row}) for row in range(count)])
    left_out = isolate(count, batch, most)
    assert sorted(left_out) == list(range(count))
    assert batch.trials <= most
    assert set(left_out.values()) <= {NOT_TRIED, *(f"[{row}]" for row in range(count))}
    assert isolate(1, lambda *_: "no", MAX_TRIALS) == {0: "no"}
