"""A failing batch is split: exactly the messages that it fails with are left out."""

from __future__ import annotations

import json
import logging

import pytest
from control_builders import control, messages
from driver import set_recursion_limit

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.errors import (
    BrokerError,
    DictionaryFullError,
    PartsLostError,
    RecursionLimitError,
    StateError,
    StateFullError,
    StreamReasonerError,
)
from streamreasoner.io.codec.decode import InputOptions
from streamreasoner.io.observer import Observers
from streamreasoner.pipeline.attempts import AttemptsFile
from streamreasoner.pipeline.evaluator import Evaluator
from streamreasoner.pipeline.failing.last_resort import LastResort, is_environmental
from streamreasoner.pipeline.published import Published
from streamreasoner.program import check_text
from streamreasoner.state.in_effect import ProgramInEffect, stored_text

LIMIT = 50
RULES = """
upto(0, ?l) :- ask(?l) .
upto(?m, ?l) :- upto(?n, ?l), ?n < ?l, ?m = ?n + 1 .
"""
ENDLESS = "more(0, ?l) :- ask(?l) . more(?m, ?l) :- more(?n, ?l), ?m = ?n + 1 ."
DEADLY = 13


def ask(limit):
    """An update that needs *limit* iterations."""
    return json.dumps({"predicate": "ask", "args": [limit], "diff": 1}).encode()


class DiedError(BaseException):
    """Stands for the death of the process."""


class Mortal(Evaluator):
    """An evaluator whose process dies on some messages, or in any evaluation."""

    deadly: tuple[int, ...] = ()
    death: type[BaseException] = DiedError
    always = False
    rehearsals = 0

    def rehearse(self, program, updates):
        """Die, or rehearse."""
        self.rehearsals += 1
        self.die_of(updates)
        super().rehearse(program, updates)

    def _attempt(self, decision, updates, epoch):
        self.die_of(updates)
        return super()._attempt(decision, updates, epoch)

    def die_of(self, updates):
        """Die if these include a deadly message."""
        if self.always or {*updates.column("value").to_pylist()} & {*map(ask, self.deadly)}:
            raise self.death


class Process:
    """A process of a pipeline, with its state in memory and a file of attempts.

    Args:
        directory: Where the file is.
        replayed: Whether the epoch was begun by a process before.
        stored: Whether the tables have it.
    """

    def __init__(self, directory, *, replayed=False, stored=False, deadly=(), death=DiedError):
        program = check_text(RULES)
        text = stored_text(program)
        self.reasoner = Reasoner(program, recursion_limit=LIMIT)
        self.evaluator = Mortal(
            self.reasoner.session,
            ProgramInEffect(program, text, text.arities, 8),
            "control",
            InputOptions(max_message_bytes=10_000, max_term_bytes=10_000),
            published=Published(),
            observer=Observers(),
        )
        self.evaluator.deadly, self.evaluator.death = deadly, death
        self.path = directory / "attempts.json"
        self.resort = LastResort(
            self.evaluator,
            AttemptsFile(self.path),
            7 if replayed else None,
            lambda epoch: stored and epoch == 7,
        )
        self.kept_alive = 0

    def keep_alive(self):
        """Count."""
        self.kept_alive += 1

    def run(self, limits=(), changes=(), epoch=7):
        """Evaluate an epoch."""
        batch = messages(control=changes, updates=[ask(limit) for limit in limits])
        offsets = {"updates": {"0": [0, len(limits)]}}
        return self.resort.evaluate(batch, epoch, offsets, self.keep_alive)

    def facts(self):
        """The facts in the state."""
        return {args[0] for args in self.reasoner.facts("ask")}


def letters(evaluated):
    """Dead letters as (topic, offset, class, reason)."""
    headers = [dict(letter.headers) for letter in evaluated.dead_letters()]
    return [
        (one["topic"].decode(), int(one["offset"]), one["class"].decode(), one["reason"].decode())
        for one in headers
    ]


def run_to_the_end(directory, limits, **options):
    """Run processes until one survives; returns it, its result and the number of dead ones."""
    deaths = 0
    while True:
        process = Process(directory, replayed=deaths > 0, **options)
        try:
            return process, process.run(limits), deaths
        except (DiedError, PartsLostError):
            deaths += 1
            assert deaths < 20


def test_a_message_that_fails_is_left_out(tmp_path, caplog):
    """It becomes a dead letter with the error, the others are applied, and the log says so."""
    process = Process(tmp_path)
    with caplog.at_level(logging.WARNING):
        evaluated = process.run([1, 2, LIMIT + 9, 3])
    [(topic, offset, kind, reason)] = letters(evaluated)
    assert (topic, offset, kind) == ("updates", 2, "epoch-failed")
    assert "The epoch fails with this message" in reason
    assert "has not converged" in reason or f"{LIMIT}" in reason
    assert process.facts() == {1, 2, 3}
    assert process.kept_alive == process.evaluator.rehearsals + 1
    assert "fails with 1 of its 4 messages" in caplog.text
    assert "offset 2 of partition 0 of updates" in caplog.text


def test_a_batch_that_passes_writes_no_file(tmp_path):
    """There is no trial and no file; a replayed batch removes its file."""
    for replayed in (False, True):
        process = Process(tmp_path, replayed=replayed)
        assert letters(process.run([1, 2])) == []
        assert process.evaluator.rehearsals == 0
        assert not process.path.exists()


def test_the_verdict_holds_for_a_replay(tmp_path):
    """Even if the message would pass now, or the tables already have the epoch."""
    first = Process(tmp_path)
    want = letters(first.run([1, LIMIT + 9, 2]))
    assert first.path.exists()
    for stored in (False, True):
        again = Process(tmp_path, replayed=True, stored=stored)
        set_recursion_limit(again.reasoner.session.engine, 1000)
        assert letters(again.run([1, LIMIT + 9, 2])) == want
        assert again.evaluator.rehearsals == 0
        assert again.facts() == first.facts() == {1, 2}
    again.run([4], epoch=8)
    assert not again.path.exists()


@pytest.mark.parametrize("death", [DiedError, PartsLostError])
def test_a_message_that_kills_the_process_is_left_out(tmp_path, death):
    """It kills four: in the batch, in the replay, and twice alone. The others are applied.

    So it is if it kills processes that hold parts of the state.
    """
    limits = [1, 2, DEADLY, 4]
    process, evaluated, deaths = run_to_the_end(tmp_path, limits, deadly=[DEADLY], death=death)
    assert deaths == 4
    [(topic, offset, kind, reason)] = letters(evaluated)
    assert (topic, offset, kind) == ("updates", 2, "epoch-failed")
    assert "pipeline.batch_timeout" in reason
    assert process.facts() == {1, 2, 4}


def test_a_large_batch_kills_few_processes(tmp_path):
    """One per level of parts; one search covers both kinds of failure."""
    limits = [0] * 100 + [DEADLY] + [0] * 60 + [LIMIT + 1] + [0] * 30
    process, evaluated, deaths = run_to_the_end(tmp_path, limits, deadly=[DEADLY])
    assert deaths <= 2 + 3 + 2
    assert [offset for _, offset, *_ in letters(evaluated)] == [100, 161]
    assert process.facts() == {0}


def test_a_process_killed_from_outside_blames_no_message(tmp_path):
    """Killed twice from outside: the parts pass, so nothing is left out."""
    for replayed in (False, True):
        process = Process(tmp_path, replayed=replayed)
        process.evaluator.always = True
        with pytest.raises(DiedError):
            process.run([1, 2])
    process = Process(tmp_path, replayed=True)
    assert letters(process.run([1, 2])) == []
    assert process.evaluator.rehearsals > 0
    assert process.facts() == {1, 2}


def test_an_epoch_that_fails_without_messages_blames_none(tmp_path):
    """The search stops when the epoch without input kills the process twice."""
    for attempt in range(4):
        process = Process(tmp_path, replayed=attempt > 0)
        process.evaluator.always = True
        with pytest.raises(DiedError):
            process.run([1, 2])
    process = Process(tmp_path, replayed=True)
    with pytest.raises(StreamReasonerError, match="even without its messages"):
        process.run([1, 2])


class Unable(Mortal):
    """An evaluator that raises an exception in every evaluation."""

    def die_of(self, _):
        """Raise."""
        raise RuntimeError


@pytest.mark.parametrize("failing", [Mortal, Unable])
def test_an_epoch_is_evaluated_again_after_the_cause_is_removed(tmp_path, failing):
    """Refused without messages, then restarted with more memory, say: every message is applied."""
    refusals = 0
    for attempt in range(10):
        process = Process(tmp_path, replayed=attempt > 0)
        process.evaluator.__class__ = failing
        process.evaluator.always = failing is Mortal
        with pytest.raises((DiedError, StreamReasonerError)) as failure:
            process.run([1, 2])
        refusals += "even without its messages" in str(failure.value)
    assert refusals >= 2

    process = Process(tmp_path, replayed=True)
    assert letters(process.run([1, 2])) == []
    assert process.facts() == {1, 2}


@pytest.mark.parametrize("error", [OSError(28, "No space left"), MemoryError(), StateError("x"),
                                   BrokerError("x"), StateFullError("x"),
                                   DictionaryFullError("x")])  # fmt: skip
def test_the_environment_is_not_a_message(tmp_path, error):
    """A full disk, a broker, memory: the process exits with the error and records nothing."""

    class Broken(Mortal):
        """Meets a failure of the environment."""

        def _attempt(self, *_):
            raise error

    process = Process(tmp_path, replayed=True)
    process.evaluator.__class__ = Broken
    with pytest.raises(type(error)):
        process.run([1])
    assert process.evaluator.rehearsals == 0
    assert not process.path.exists()


def test_a_full_state_is_not_a_message(tmp_path):
    """Kernels that run out of memory count as environment."""
    process = Process(tmp_path)
    scalars = process.reasoner.session.engine._backend._state.scalars  # noqa: SLF001 - no user can do this
    scalars[layout.CAPACITY] = scalars[layout.TOP]
    with pytest.raises(StateFullError):
        process.run([1])
    assert not is_environmental(RecursionLimitError("x"))


def test_a_bug_in_the_codec_is_survived(tmp_path):
    """Any other exception rejects the message, with the type of the exception."""

    class Buggy(Mortal):
        """Cannot read one message."""

        def _codec(self, program):
            codec = super()._codec(program)
            decode = codec.decode
            codec.decode = lambda batch: decode(self.checked(batch))
            return codec

        def checked(self, batch):
            """The batch, unless the message is in it."""
            if ask(DEADLY) in batch.column("value").to_pylist():
                raise KeyError("bug")
            return batch

    process = Process(tmp_path)
    process.evaluator.__class__ = Buggy
    [(_, offset, _, reason)] = letters(process.run([1, DEADLY]))
    assert offset == 1
    assert "KeyError('bug')" in reason


def test_a_stored_epoch_is_never_split(tmp_path):
    """The tables have it with all its messages, so a failure is raised."""
    process = Process(tmp_path, replayed=True, stored=True)
    with pytest.raises(RecursionLimitError):
        process.run([1, LIMIT + 9])
    assert not process.path.exists()


def test_a_change_of_program_that_kills_the_process_is_rejected(tmp_path):
    """It is tried without messages and rejected; they are applied with the old program."""
    add = [control("add", "late(?x) :- ask(?x) .")]

    class Fragile(Mortal):
        """Dies with any other program."""

        def rehearse(self, program, updates):
            """Die, or rehearse."""
            if program is not self.program:
                raise DiedError
            super().rehearse(program, updates)

        def _attempt(self, decision, updates, epoch):
            if decision.program is not self.program:
                raise DiedError
            return super()._attempt(decision, updates, epoch)

    for deaths in range(10):
        process = Process(tmp_path, replayed=deaths > 0)
        process.evaluator.__class__ = Fragile
        try:
            evaluated = process.run([1, 2], add)
        except DiedError:
            continue
        break
    assert deaths == 4
    assert [(topic, kind) for topic, _, kind, _ in letters(evaluated)] == [
        ("control", "epoch-failed")
    ]
    assert process.facts() == {1, 2}


def test_a_change_of_program_stays_when_a_message_fails_with_both(tmp_path):
    """The message fails with either program: it is left out, the change is applied."""
    process = Process(tmp_path)
    evaluated = process.run([1, LIMIT + 9], [control("add", "late(?x) :- ask(?x) .")])
    assert [(topic, offset) for topic, offset, *_ in letters(evaluated)] == [("updates", 1)]
    assert evaluated.applied == 1
    assert {args[0] for args in process.reasoner.facts("late")} == {1}


def test_a_divergent_program_is_rejected_without_a_search(tmp_path):
    """A change that fails by itself is rejected without trials."""
    process = Process(tmp_path)
    evaluated = process.run([1], [control("add", ENDLESS)])
    assert [topic for topic, *_ in letters(evaluated)] == ["control"]
    assert process.evaluator.rehearsals == 0


def test_a_damaged_file_is_refused(tmp_path):
    """The message names the file and the remedy."""
    (tmp_path / "attempts.json").write_text("{")
    with pytest.raises(StateError, match=r"attempts\.json cannot be read"):
        Process(tmp_path)
