"""Liveness and readiness: alive while no batch is stuck, ready while batches run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.server.health import Health

EVENTS = st.lists(st.sampled_from(("ready", "unready", "start", "finish")), max_size=8)


@given(EVENTS)
def test_the_last_events_decide(events):
    """A batch is stuck once it takes longer than the timeout, until it ends; else all is well."""
    patient, impatient = Health(1e9), Health(-1.0)
    running, ready = None, False
    for epoch, event in enumerate(events):
        ready = event == "ready" if event.endswith("ready") else ready
        running = epoch if event == "start" else None if event == "finish" else running
        for health in (patient, impatient):
            if event.endswith("ready"):
                health.ready(is_ready=ready)
            elif event == "start":
                health.batch_started(epoch)
            else:
                health.batch_finished()

        assert patient.is_alive()[0]
        assert impatient.is_alive()[0] == (running is None)
        for health in (patient, impatient):
            alive, line = health.is_alive()
            assert line.startswith("ok: ") == alive
            assert (f"batch {running} " in line) == (running is not None)
            assert health.is_ready()[0] is ready
            assert health.is_ready()[1].startswith("ok: ") == ready


def test_a_batch_that_waits_for_kafka_is_not_stuck_and_not_ready():
    """Only while it waits; afterwards its time begins again."""
    health = Health(-1.0)
    health.ready(is_ready=True)
    health.batch_started(4)
    assert not health.is_alive()[0]
    health.waiting("no answer")
    assert health.is_alive() == (True, "ok: batch 4 waits for Kafka")
    assert health.is_ready() == (False, "waiting for Kafka: no answer")
    health.waiting(None)
    assert not health.is_alive()[0]
    assert health.is_ready()[0]
