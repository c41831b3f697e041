"""A batch that runs again leaves tables and topics as if it had run once."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from control_builders import messages
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from storage_builders import APP, restored

from streamreasoner.backends.store import columnar
from streamreasoner.engine.session import Session
from streamreasoner.errors import BrokerError, BrokerUnavailableError, StateError
from streamreasoner.io.codec.decode import InputOptions
from streamreasoner.io.codec.encode import ChangeEncoder
from streamreasoner.io.formats.records.record import NO_SCHEMAS
from streamreasoner.io.observer import Observers
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.pipeline.attempts import AttemptsFile
from streamreasoner.pipeline.batch import EpochRunner, Parts
from streamreasoner.pipeline.evaluator import Evaluator
from streamreasoner.pipeline.failing.last_resort import LastResort
from streamreasoner.pipeline.pressure import outage
from streamreasoner.pipeline.pressure.outage import Outage
from streamreasoner.pipeline.published import Published
from streamreasoner.pipeline.recovery import resume
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.state.in_effect import ProgramInEffect, stored_text
from streamreasoner.state.tables import Tables

PROGRAM = check_text("path(?x, ?y) :- edge(?x, ?y) .")
TEXT = stored_text(PROGRAM)
OPTIONS = InputOptions(max_message_bytes=10_000, max_term_bytes=10_000)
EDGES = [("a", "b", 1), ("b", "c", 1), ("b", "c", -1), ("", "x", 1), ("c", "d", 2)]
ENDS = [2, 5]


class Topics:
    """Topics that keep what is committed; a commit fails while the network is down."""

    def __init__(self):
        self.published = {}
        self.marker = None
        self.down = False
        self.failures = []

    def publish(self, publication):
        """Commit a transaction."""
        changes = sorted(value for part in publication.changes for value in part.values)
        letters = [letter.value for letter in publication.dead_letters]
        if self.down:
            raise BrokerError("down")
        failure = self.failures.pop(0) if self.failures else None
        if failure == "before the commit":
            raise BrokerUnavailableError(failure)
        epoch = publication.marker.epoch
        assert epoch not in self.published
        self.published[epoch], self.marker = (changes, letters), publication.marker
        if failure == "after the commit":
            raise BrokerUnavailableError(failure)
        return len(changes)

    def reopen(self):
        """Nothing is left open."""

    def ask(self):
        """They are those on record."""
        return lambda: None


def batch(epoch):
    """The messages of an epoch; one of them is malformed."""
    values = [
        json.dumps(
            {"predicate": "edge", "args": [f"<a:{x}>" if x else "x", f"<a:{y}>"], "diff": d}
        ).encode()
        for x, y, d in EDGES
    ]
    start = ([0, *ENDS])[epoch]
    return messages(**{"in": values}).slice(start, ENDS[epoch] - start)


class Process:
    """A process of the pipeline: its state, restored from the tables, and a runner."""

    def __init__(self, directory, topics):
        plan = directory / "checkpoint"
        self.tables = Tables.open(directory / "tables", APP, TEXT, 2)
        point = resume(topics.marker, self.tables, Checkpoint.read(plan))
        dictionary = Dictionary()
        self.tables.restore_terms(dictionary)
        session = Session(PROGRAM, columnar(dictionary))
        if point.before:
            session.engine.restore(self.tables.restore(point.before), before=point.before)
        in_effect = ProgramInEffect(PROGRAM, TEXT, TEXT.arities, 8)
        evaluator = Evaluator(
            session, in_effect, None, OPTIONS, published=Published(), observer=Observers()
        )
        resort = LastResort(
            evaluator, AttemptsFile(directory / "attempts"), None, self.tables.has_begun
        )
        parts = Parts(
            checkpoint=Checkpoint.read(plan),
            topics=topics,
            schemas=NO_SCHEMAS,
            evaluation=resort,
            dictionary=dictionary,
            tables=self.tables,
            upload=lambda: None,
            encoder=ChangeEncoder(),
            sink=topics,
            marker=lambda: topics.marker,
            observer=Observers(),
            outage=Outage(Observers()),
            semantics={},
        )
        self.runner = EpochRunner(parts, point)

    def run(self, epoch):
        """Run a batch."""
        self.runner.run(batch(epoch), epoch, lambda: None)

    def end(self):
        """Close the tables, and return what they hold."""
        trace, dictionary = restored(self.tables, len(ENDS))
        self.tables.close()
        return trace, dictionary.terms(0, len(dictionary)).to_pylist()


def plan(directory, epoch):
    """What Spark has written before it runs a batch."""
    texts = {"sources/0/0": json.dumps({"in": {"0": 0}})}
    texts[f"offsets/{epoch}"] = "{}\n" + json.dumps({"in": {"0": ENDS[epoch]}})
    if epoch:
        texts[f"commits/{epoch - 1}"] = "{}"
    for name, text in texts.items():
        path = directory / "checkpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"v1\n{text}")


def first_batch(directory, topics):
    """A process that has run the first batch, and is to run the second."""
    plan(directory, 0)
    process = Process(directory, topics)
    process.run(0)
    plan(directory, 1)
    return process


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What tables and topics hold after both batches."""
    topics = Topics()
    process = first_batch(tmp_path_factory.mktemp("undisturbed"), topics)
    process.run(1)
    return process.end(), topics.published


def test_changes_and_dead_letters_are_published(undisturbed):
    """An epoch with the changes of its batch, and the message that is none."""
    _, published = undisturbed
    (first, _), (second, letters) = published[0], published[1]

    assert [json.loads(value)["args"] for value in first] == [
        ["<a:a>", "<a:b>"],
        ["<a:b>", "<a:c>"],
    ]
    assert [json.loads(value)["diff"] for value in second] == [-1, 1]
    assert [json.loads(value)["args"] for value in letters] == [["x", "<a:x>"]]


@pytest.mark.parametrize("down", [True, False], ids=["behind step 1", "behind step 2"])
def test_the_next_process_completes_what_a_crash_left(tmp_path, undisturbed, down):
    """It appends and publishes what is missing, and nothing twice."""
    topics = Topics()
    process = first_batch(tmp_path, topics)
    topics.down = down
    try:
        process.run(1)
    except BrokerError:
        assert down
    process.end()

    topics.down = False
    process = Process(tmp_path, topics)
    process.run(1)

    assert (process.end(), topics.published) == undisturbed


FAILURES = st.lists(st.just("before the commit"), max_size=3).flatmap(
    lambda lost: st.sampled_from([lost, [*lost, "after the commit"]])
)


@given(FAILURES)
@settings(max_examples=8)
def test_an_outage_publishes_each_epoch_once(undisturbed, failures):
    """However often a transaction fails, and whether or not the last one was committed."""
    topics = Topics()
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        patched.setattr(outage, "_PAUSE_SECONDS", 0.0)
        process = first_batch(Path(name), topics)
        topics.failures = list(failures)
        process.run(1)
        assert topics.failures == []
        assert (process.end(), topics.published) == undisturbed


def test_an_outage_in_which_another_process_published_is_refused(tmp_path, monkeypatch):
    """Its marker is not the one before the epoch, nor that of the epoch."""
    topics = Topics()
    monkeypatch.setattr(outage, "_PAUSE_SECONDS", 0.0)
    process = first_batch(tmp_path, topics)
    topics.failures = ["before the commit"]
    topics.marker = replace(topics.marker, epoch=7)
    with pytest.raises(StateError, match=r"another process with this pipeline\.app_id"):
        process.run(1)
    process.end()
