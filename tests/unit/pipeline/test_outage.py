"""Times in which Kafka is away, noticed by batches, by a watch, or by both."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import BrokerUnavailableError
from streamreasoner.io.observer import Observers, PipelineObserver
from streamreasoner.pipeline.pressure import outage
from streamreasoner.pipeline.pressure.outage import KafkaWatch, Noticed, Outage

WAIT_SECONDS = 60
EVENTS = st.lists(st.tuples(st.sampled_from(Noticed), st.booleans()), max_size=8)


class Waits(PipelineObserver):
    """Records the beginning and the end of each wait."""

    def __init__(self):
        self.reasons = []
        self.told = threading.Semaphore(0)

    def waiting(self, reason):
        """Record it."""
        self.reasons.append(reason)
        self.told.release()


@given(EVENTS)
def test_an_outage_lasts_as_long_as_anyone_notices_it(events):
    """The observer is told when the first one notices it, and when the last one finds an answer."""
    waits, noticed, expected = Waits(), set(), []
    each = Outage(waits)
    for by, begins in events:
        was_away = bool(noticed)
        if begins:
            noticed.add(by)
            each.begin(by, "no answer")
        else:
            noticed.discard(by)
            each.end(by)
        if was_away != bool(noticed):
            expected.append("no answer" if noticed else None)
    assert waits.reasons == expected


def test_a_batch_retries_until_there_is_an_answer(monkeypatch, caplog):
    """Its wait is logged once, however often it tries."""
    monkeypatch.setattr(outage, "_PAUSE_SECONDS", 0)
    answers = iter([BrokerUnavailableError("again"), BrokerUnavailableError("again"), 7])

    def retry():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    waits = Waits()
    with caplog.at_level(logging.INFO):
        found = Outage(waits).outlast(BrokerUnavailableError("away"), retry, lambda: None)
    assert found == 7
    assert waits.reasons == ["away", None]
    assert [each.message.split()[0] for each in caplog.records] == ["Waiting", "Kafka"]


def test_two_questions_without_an_answer_are_an_outage(monkeypatch):
    """A single one is not; the end of an outage needs one answer."""
    monkeypatch.setattr(outage, "_ASK_SECONDS", 0)
    answers = iter(["slow", None, "away", "away", "away", None])
    waits, silent = Waits(), threading.Event()

    def why_silent(seconds):
        assert seconds > 0
        found = next(answers, "over")
        if found == "over":
            silent.wait(WAIT_SECONDS)
        return found

    watch = KafkaWatch(why_silent, Outage(waits))
    assert waits.told.acquire(timeout=WAIT_SECONDS)
    assert waits.told.acquire(timeout=WAIT_SECONDS)
    watch.stop()
    silent.set()
    assert waits.reasons == ["away", None]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_is_asked_to_end_does_not_wait_for_kafka(when):
    """It ends with 0, whether Kafka went away before it was asked or afterwards."""
    begin = "away.begin(Noticed.WATCH, 'no answer')"
    code = f"""
import threading
from streamreasoner.io.observer import Observers
from streamreasoner.pipeline.pressure import outage
from streamreasoner.pipeline.pressure.outage import Noticed, Outage
outage._GRACE_SECONDS = outage._PAUSE_SECONDS = 0.01
away = Outage(Observers())
{begin if when == "before" else ""}
away.end_process()
{begin if when == "after" else ""}
threading.Event().wait()
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, timeout=WAIT_SECONDS)


def test_without_an_outage_the_process_goes_on():
    """It ends by itself, when its last batch is done."""
    Outage(Observers()).end_process()
    assert threading.enumerate()[-1].daemon
