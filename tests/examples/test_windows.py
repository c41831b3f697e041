"""Examples of facts that expire: their messages in any order leave what a plain loop finds."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from examples.cases import FOLDER

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.config import load
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.program.load import load_program
from streamreasoner.rdf.dictionary import Dictionary

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
        # A text is a term in a message, with quotation marks.
        args = (json.loads(arg) if isinstance(arg, str) else arg for arg in message["args"])
        yield Update(message["predicate"], tuple(args), message["diff"], time)


@pytest.mark.parametrize("name", WINDOWS)
def test_a_pipeline_takes_every_message(name):
    """None is rejected, as one whose texts lack quotation marks would be."""
    lines = (FOLDER / name / "messages.jsonl").read_bytes().splitlines()
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    table = pa.table(
        {
            "topic": ["in"] * len(lines),
            "value": lines,
            "timestamp": pa.array([1 << 41] * len(lines), pa.timestamp("ms", "UTC")),
            "headers": pa.nulls(len(lines), header),
        }
    )
    program = load_program(FOLDER / name / "rules.dl")
    options = InputOptions(max_message_bytes=1000, max_term_bytes=1000)
    decoded = Codec(Dictionary(), program.arities, options).decode(table)
    assert decoded.rejected == ()
    assert sum(len(each.args) for each in decoded.updates) == len(lines)


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
