"""Two threads give the same result as one: large epochs are exact and deterministic."""

from __future__ import annotations

import pytest
from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import scenarios

from streamreasoner.backends.columnar import backend, parallel


@given(scenarios(), st.integers(1, 4), st.integers(1, 4))
def test_trace_equals_from_scratch_with_two_threads(scenario, chunk, more):
    """With chunks and buffers of a few rows the trace equals evaluation from scratch."""
    with pytest.MonkeyPatch.context() as sizes:
        sizes.setattr(backend.ColumnarBackend, "large", 1)
        sizes.setattr(parallel, "CHUNK", chunk)
        sizes.setattr(parallel, "LIMIT", chunk + more)
        driver = Driver(scenario.checked)
        results = driver.run(scenario.epochs)
        again = Driver(scenario.checked)
        repeated = again.run(scenario.epochs)

    assert driver.trace() == evaluate(scenario.checked, total(scenario.epochs))
    assert [rows(result) for result in results] == [rows(result) for result in repeated]


def rows(result):
    """The trace differences of an epoch, in order."""
    return [
        (part.predicate, part.args.tolist(), part.iteration.tolist(), part.multiplicity.tolist())
        for part in result.trace
    ]
