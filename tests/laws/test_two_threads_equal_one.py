"""Two threads give the same result as one: large epochs are exact and deterministic."""

from __future__ import annotations

import pytest
from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import checked, scenarios

from streamreasoner.backends.columnar import backend, parallel
from streamreasoner.backends.columnar.kernels.records import layout


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


@pytest.mark.timeout(300)
def test_an_epoch_that_is_interrupted_is_rolled_back(monkeypatch):
    """Also while the other thread makes groups, which are more than the table had room for."""
    monkeypatch.setattr(backend.ColumnarBackend, "large", 1)
    monkeypatch.setattr(parallel, "CHUNK", 1 << 10)
    driver = Driver(checked("@input e/3, f/3 .\np(?z, ?w) :- e(?x, ?y, ?z), f(?x, ?y, ?w) ."))
    names = [f"<{number}>" for number in range(5_000)]
    first, more = (
        [(name, (each, names[0], each), 1) for each in chosen for name in ("e", "f")]
        for chosen in (names[:10], names[10:])
    )
    driver.apply(first)
    before, accumulate = driver.trace(), parallel.pending.accumulate_beside
    state = driver.session.engine._backend  # noqa: SLF001 - nothing else has its threads

    def interrupted(*tables):
        if state._threads._scalars[layout.GROUP_SIZE] > state._state.scalars[layout.GROUP_SIZE]:  # noqa: SLF001
            raise KeyboardInterrupt
        return accumulate(*tables)

    with monkeypatch.context() as patch:
        patch.setattr(parallel.pending, "accumulate_beside", interrupted)
        with pytest.raises(KeyboardInterrupt):
            driver.apply(more)

    assert driver.trace() == before
    driver.apply(more)
    assert len(driver.closure()) == 3 * len(names)


def rows(result):
    """The trace differences of an epoch, in order."""
    return [
        (part.predicate, part.args.tolist(), part.iteration.tolist(), part.multiplicity.tolist())
        for part in result.trace
    ]
