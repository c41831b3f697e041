"""Examples of facts that expire: their messages in any order leave what a plain loop finds."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta

import pytest
from examples.cases import FOLDER

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.config import load

WINDOWS = {
    "sensor-windows": ("reading", timedelta(minutes=10), timedelta(milliseconds=1)),
    "presence": ("seen", timedelta(minutes=1), timedelta(milliseconds=1)),
    "card-fraud": ("payment", timedelta(hours=1), timedelta(minutes=1)),
}
"""Predicate, duration and step."""

_1970 = datetime(1970, 1, 1, tzinfo=UTC)


def messages(name):
    """The messages of an example as updates."""
    for line in (FOLDER / name / "messages.jsonl").read_text("utf-8").splitlines():
        message = json.loads(line)
        time = datetime.fromisoformat(message["ts"])
        yield Update(message["predicate"], tuple(message["args"]), message["diff"], time)


def remaining(name, updates, frontier):
    """The facts in the window at a time."""
    predicate, duration, step = WINDOWS[name]
    latest = {}
    for update in sorted(updates, key=lambda each: (each.ts, -each.multiplicity)):
        if update.predicate == predicate:
            latest[update.args] = update
    for args, update in latest.items():
        over = _1970 + -((_1970 - update.ts - duration) // step) * step
        if update.multiplicity > 0 and over > frontier:
            yield args


@pytest.mark.parametrize("name", WINDOWS)
def test_messages_in_any_order_leave_the_same(name):
    """The facts of the window, and what follows from them, depend on the messages alone."""
    predicate, duration, _ = WINDOWS[name]
    lateness = timedelta(
        milliseconds=load(FOLDER / name / "pipeline.toml", {}).time.allowed_lateness
    )
    updates = list(messages(name))
    frontier = max(update.ts for update in updates) - lateness
    expected = sorted(remaining(name, updates, frontier))
    assert expected
    stated = [update for update in updates if update.predicate != predicate]
    shuffled = random.Random(1)
    outcomes = []
    for _ in range(5):
        timed = [update for update in updates if update.predicate == predicate] * 2
        reasoner = Reasoner.from_rules(FOLDER / name / "rules.dl", allowed_lateness=lateness)
        assert reasoner.program.warnings == ()
        reasoner.apply(stated)
        for update in shuffled.sample(timed, len(timed)):
            reasoner.apply([update])

        assert sorted(reasoner.facts(predicate)) == expected
        outcomes.append({each: sorted(reasoner.facts(each)) for each in reasoner.program.outputs})
    assert outcomes == outcomes[:1] * 5
    reasoner.advance(frontier + 2 * duration)
    assert reasoner.facts(predicate) == reasoner.trace(predicate) == []
