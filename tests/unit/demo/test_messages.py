"""The demo's messages: the university's updates in order, and what the output topic has."""

from __future__ import annotations

import json
import threading
from itertools import takewhile

import numpy as np
import pyarrow as pa
import pytest

from streamreasoner.demo import producer
from streamreasoner.demo.stream import background, change
from streamreasoner.demo.tally import Tally
from streamreasoner.demo.university import Change, EventKind, university
from streamreasoner.engine.epoch import EpochResult
from streamreasoner.io.codec.encode import ChangeEncoder, Message
from streamreasoner.program.checked import check_text

SEED = 5
LATER = 300
DERIVED = 3


@pytest.fixture(scope="module")
def sent():
    """Messages that a pipeline evaluates at once, an epoch each, and what was announced.

    After the opening, an update of the schema derives `DERIVED` facts; no other derives anything.
    """
    events = takewhile(lambda event: event.kind is EventKind.OPENING, university(SEED, 10))
    opening = sum(len(event.updates) for event in events)
    tally, stop, announced, values = Tally(), threading.Event(), [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(producer, "SCHEMA_SECONDS", 0)
        stream = producer.Producer(
            SEED, 1e9, tally, lambda *event: announced.append(event), stop
        ).messages()
        for epoch, (_, value) in zip(range(opening + LATER), stream, strict=False):
            values.append(value)
            is_schema = epoch >= opening and b"rdf-schema#" in value
            tally.batch_started(epoch, 1)
            tally.epoch_evaluated(EpochResult(epoch, 1, 1, (), (), ()), check_text(""))
            tally.published(DERIVED * is_schema, {}, np.zeros(1))
            tally.batch_finished(epoch, 0.0)
            tally.received([Change(("<a:x>", "<a:p>", "<a:y>"), 1, epoch)] * (DERIVED * is_schema))
        stop.set()
        assert next(stream, None) is None
    return values, announced


def test_messages_are_the_updates_in_order(sent):
    """Each has the terms and the sign of an update; the end of the stream ends it."""
    values, _ = sent
    updates = (update for event in university(SEED, 10) for update in event.updates)

    for value, update in zip(values, updates, strict=False):
        found = change(Message(value, None, []))
        assert (found.fact, found.diff, found.epoch) == (update.fact, update.diff, -1)
    assert len({json.loads(value)["ts"] for value in values}) > 1


def test_a_change_of_the_schema_is_announced_with_its_effect(sent):
    """Others are announced as they are."""
    _, announced = sent
    events = [event for event, _ in zip(university(SEED, 10), announced, strict=False)]

    assert [kind for kind, _ in announced] == [event.kind for event in events]
    for (kind, sentence), event in zip(announced, events, strict=True):
        effect = f": {DERIVED} derived facts come" if kind is EventKind.SCHEMA else ""
        assert sentence == event.sentence + effect
    assert sum(kind is EventKind.SCHEMA for kind, _ in announced) > 10


def test_a_message_of_the_output_topic_is_a_change():
    """With the epoch that derived it."""
    fact = ("<a:x>", "<a:p>", '"\\"é\\""')
    columns = [pa.array([term], pa.large_string()) for term in fact]
    [sent] = ChangeEncoder().encode(("triple", columns, np.array([-1], np.int8)), 0, 7)
    [value] = sent.values

    assert change(Message(value, None, [])) == Change(fact, -1, 7)


def test_an_error_in_the_background_is_not_lost():
    """It is raised where the result is asked for, whatever it is."""

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        background("fails", fail).result(5)
    assert background("ends", lambda: None).result(5) is None
