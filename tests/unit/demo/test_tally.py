"""The totals of the demo: calls from three threads, in any order, give the same sums."""

from __future__ import annotations

import time

import numpy as np
import pytest

from streamreasoner.backends.store import columnar
from streamreasoner.demo.tally import Tally
from streamreasoner.demo.university import Change
from streamreasoner.engine.epoch import EpochResult
from streamreasoner.engine.session import Session
from streamreasoner.program.checked import check_text

FACT = ("<a:x>", "<a:p>", "<a:y>")
TOPIC = "sent"
EVERYTHING = {"0": [0, 2], "1": [0, 1]}
"""The offsets of what the tally below has sent."""


class Position:
    """A pipeline without Kafka and Spark, at a position."""

    session = Session(check_text(""), columnar())
    position = None


def take(tally, epoch, changes, read=EVERYTHING, **others):
    """The calls of a batch up to a position, of three inputs, that derives `changes` changes."""
    tally.epoch_evaluated(EpochResult(epoch, 3, 7, (), (), ()), check_text(""))
    tally.published(changes, {}, np.full(3, 0.5))
    tally.pipeline.position = {TOPIC: read, **others}
    tally.batch_finished(epoch, 0.1)


@pytest.fixture
def tally():
    """A tally of two assertions and a retraction, sent to two partitions."""
    new = Tally(TOPIC)
    new.pipeline = Position()
    for diff, partition, offset in ((1, 0, 0), (1, 1, 0), (-1, 0, 1)):
        new.sent(diff)
        new.acknowledged(partition, offset)
    return new


def test_inputs_and_changes_are_counted_by_sign(tally):
    """Updates and changes are counted separately by sign."""
    tally.received([Change(FACT, 1, 0), Change(FACT, -1, 0), Change(FACT, 1, 0)])

    snapshot = tally.snapshot()
    assert (snapshot.asserted_in, snapshot.retracted_in, snapshot.updates_in) == (2, 1, 3)
    assert (snapshot.plus, snapshot.minus) == (2, 1)
    assert [change.diff for change in snapshot.latest] == [1, -1, 1]


@pytest.mark.parametrize("receipt_first", [False, True])
def test_it_is_settled_when_every_change_is_received(tally, receipt_first):
    """Settled means evaluated and received, in either order."""
    changes = [Change(FACT, 1, 0), Change(FACT, 1, 0)]
    steps = [lambda: take(tally, 0, 2), lambda: tally.received(changes)]
    first, second = reversed(steps) if receipt_first else steps

    first()
    assert not tally.await_settled(0)
    second()

    assert tally.await_settled(0).plus == 2


def test_it_is_not_settled_while_input_waits(tally):
    """Input that no epoch has evaluated is not settled, however much of others has been."""
    take(tally, 0, 0, {"0": [0, 1], "1": [0, 50]}, others={"0": [0, 50]})

    assert not tally.await_settled(0)


def test_it_is_not_settled_while_kafka_has_not_acknowledged_all(tally):
    """An update on its way may be evaluated later than what came after it."""
    tally.sent(1)
    take(tally, 0, 0)
    assert not tally.await_settled(0)

    tally.acknowledged(1, 1)
    assert not tally.await_settled(0)
    take(tally, 1, 0, {"0": [2, 2], "1": [1, 2]})

    assert tally.await_settled(0)


def test_messages_of_others_are_counted(tally):
    """Those of the same topic and those of other topics, such as changes of the rules."""
    take(tally, 0, 0)
    assert tally.await_settled(0).others == 0

    take(tally, 1, 0, {"0": [2, 2], "1": [1, 4]}, rules={"0": [0, 1]})

    assert tally.await_settled(0).others == 4


def test_it_is_not_settled_between_the_changes_of_an_epoch_and_its_end(tally):
    """Changes that are received belong to messages that are not counted before the epoch ends."""
    take(tally, 0, 0)
    tally.received([Change(FACT, 1, 1)])
    tally.published(1, {}, np.full(1, 0.5))
    assert not tally.await_settled(0)

    take(tally, 1, 1, others={"0": [0, 1]})

    settled = tally.await_settled(0)
    assert (settled.plus, settled.others) == (1, 1)


def test_a_latency_ends_at_the_receipt_of_the_last_change(tally):
    """The latency of an input is from its append to the receipt of its epoch's last change."""
    took = 0.5
    before = time.time()
    take(tally, 0, 2)
    tally.received([Change(FACT, 1, 0)])
    assert len(tally.snapshot().all) == 0

    tally.received([Change(FACT, 1, 0)])

    latencies = tally.snapshot().all
    assert latencies.shape == (3,)
    assert np.all(latencies >= took - 1e-3)
    assert np.all(latencies <= took + time.time() - before + 1e-3)


def test_an_epoch_that_derives_nothing_has_no_latency(tally):
    """An epoch without changes to receive has no latency."""
    take(tally, 0, 0)

    assert tally.await_settled(0)
    assert len(tally.snapshot().all) == 0


def test_latencies_start_anew(tally):
    """The latencies of the opening are discarded."""
    take(tally, 0, 1)
    tally.received([Change(FACT, 1, 0)])

    tally.start_latencies()

    assert len(tally.snapshot().all) == len(tally.snapshot().recent) == 0


def test_the_last_epoch_is_shown(tally):
    """Epoch and iterations are those of the last batch."""
    take(tally, 4, 0)

    assert (tally.snapshot().epoch, tally.snapshot().iterations) == (4, 7)
