"""The demo's messages: the university's updates in order, and what the output topic has."""

from __future__ import annotations

import json
import threading
from collections import Counter
from itertools import takewhile
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from streamreasoner.backends.store import columnar
from streamreasoner.demo import producer
from streamreasoner.demo.stream import background, change
from streamreasoner.demo.tally import Tally
from streamreasoner.demo.university import Change, EventKind, university
from streamreasoner.engine.epoch import EpochResult
from streamreasoner.engine.session import Session
from streamreasoner.io.codec.encode import ChangeEncoder, Message
from streamreasoner.program.checked import check_text

SEED = 5
LATER = 300
DERIVED = 3
TOPIC = "sent"
COUNTED = f": {DERIVED} derived facts come"
NOT_COUNTED = ": its consequences are not counted, as others send messages too"


@pytest.fixture(scope="module")
def sent():
    """Messages that a pipeline evaluates at once, an epoch each, and what was announced.

    After the opening, an update of the schema derives `DERIVED` facts; no other derives anything.
    Every other epoch of such an update has a message of somebody else.
    """
    events = takewhile(lambda event: event.kind is EventKind.OPENING, university(SEED, 10))
    opening = sum(len(event.updates) for event in events)
    tally, stop, announced, values = Tally(TOPIC), threading.Event(), [], []
    tally.pipeline = SimpleNamespace(session=Session(check_text(""), columnar()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(producer, "SCHEMA_SECONDS", 0)
        stream = producer.Producer(
            SEED, 1e9, tally, lambda *event: announced.append(event), stop
        ).messages()
        visits = 0
        for epoch, (_, value) in zip(range(opening + LATER), stream, strict=False):
            values.append(value)
            is_schema = epoch >= opening and b"rdf-schema#" in value
            visits += is_schema and epoch % 2
            tally.acknowledged(0, epoch)
            tally.pipeline.position = {TOPIC: {"0": [0, epoch + 1]}, "rules": {"0": [0, visits]}}
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
        found = json.loads(value)
        assert ((found["s"], found["p"], found["o"]), found["diff"]) == (update.fact, update.diff)
    assert len({json.loads(value)["ts"] for value in values}) > 1


def test_a_change_of_the_schema_is_announced_with_its_effect(sent):
    """Unless others send messages meanwhile. Other events are announced as they are."""
    _, announced = sent
    events = [event for event, _ in zip(university(SEED, 10), announced, strict=False)]

    assert [kind for kind, _ in announced] == [event.kind for event in events]
    effects = Counter()
    for (kind, sentence), event in zip(announced, events, strict=True):
        effect = sentence.removeprefix(event.sentence)
        assert kind is EventKind.SCHEMA or not effect
        effects[effect] += 1
    assert effects.keys() == {"", COUNTED, NOT_COUNTED}
    assert min(effects.values()) > 3


@pytest.mark.parametrize(
    ("predicate", "fact"),
    [
        ("triple", ("<a:x>", "<a:p>", '"\\"é\\""')),
        ("quad", ("<a:x>", "<a:p>", "<a:y>", "<a:g>")),
        ("asked", ("<a:x>",)),
        ("yes", ()),
    ],
)
def test_a_message_of_the_output_topic_is_a_change(predicate, fact):
    """With the epoch that derived it."""
    columns = [pa.array([term], pa.large_string()) for term in fact]
    [sent] = ChangeEncoder().encode((predicate, columns, np.array([-1], np.int8)), 0, 7)
    [value] = sent.values

    assert change(Message(value, None, [])) == Change(fact, -1, 7, predicate)


def test_an_error_in_the_background_is_not_lost():
    """It is raised where the result is asked for, whatever it is."""

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        background("fails", fail).result(5)
    assert background("ends", lambda: None).result(5) is None
