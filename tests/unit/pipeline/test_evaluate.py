"""Epochs with control messages: a new program is in effect from the beginning of its epoch."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime

import pytest
from control_builders import APPENDED, control, messages

from streamreasoner.api.reasoner import Reasoner, columnar
from streamreasoner.api.updates import Update
from streamreasoner.errors import EngineError
from streamreasoner.io.codec.decode import InputOptions
from streamreasoner.pipeline.evaluator import Evaluator
from streamreasoner.pipeline.in_effect import ProgramInEffect, stored_text
from streamreasoner.pipeline.observers import Observers
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.state import Tables
from streamreasoner.state.record import EpochRecord

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
ENDLESS = "count(0) . count(?m) :- count(?n), ?m = ?n + 1 ."
A, B, C = (f"<http://example.org/{name}>" for name in "abc")
OPTIONS = InputOptions(max_message_bytes=10_000, max_term_bytes=10_000)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def fact(predicate, *args, diff=1, **fields):
    """An update."""
    return json.dumps({"predicate": predicate, "args": args, "diff": diff, **fields}).encode()


class Process:
    """The memory of a pipeline's process, restored from its tables.

    The epochs from `before` on are not restored: they are replayed.
    """

    def __init__(self, tables, before, *, closure=False, limit=100):
        programs = [(epoch, program) for epoch, program in tables.programs if epoch < before]
        in_effect = ProgramInEffect.restored(programs, tables.width)
        dictionary = Dictionary()
        tables.restore_terms(dictionary)
        self.tables = tables
        self.reasoner = Reasoner(
            in_effect.checked,
            recursion_limit=limit,
            store=columnar(dictionary),
            known=in_effect.known,
        )
        self.reasoner.engine.restore(tables.restore(before), before)
        self.evaluator = Evaluator(
            self.reasoner, in_effect, "control", OPTIONS, closure, Observers()
        )

    def evaluate(self, epoch, updates=(), changes=()):
        """Evaluate one epoch, in memory only."""
        return self.evaluator.evaluate(messages(control=changes, updates=updates), epoch)

    def run(self, epoch, updates=(), changes=()):
        """Evaluate one epoch, with durable step 1."""
        evaluated = self.evaluate(epoch, updates, changes)
        terms = self.reasoner.dictionary
        self.tables.commit(
            EpochRecord(epoch, {"in": {"0": [epoch, epoch + 1]}}, evaluated.program.hash),
            NOW,
            (0, terms.terms(0, len(terms))),
            evaluated.result.trace,
            evaluated.changes,
            evaluated.new_program,
        )
        return evaluated


def open_state(directory, rules=RULES):
    """The tables of a pipeline."""
    text = stored_text(check_text(rules))
    return Tables.open(directory, "app", text, max(text.arities.values()))


def process(directory, rules=RULES, before=0, **settings):
    """A process on a state that begins with these rules."""
    return Process(open_state(directory, rules), before, **settings)


def changed(evaluated):
    """Published changes as a set of (predicate, args, sign)."""
    return {
        (predicate, args, int(sign))
        for predicate, columns, signs in evaluated.changes
        for args, sign in zip(
            zip(*(column.to_pylist() for column in columns), strict=True), signs, strict=True
        )
    }


def letters(evaluated):
    """Dead letters as (topic, offset, class)."""
    rejected = []
    for letter in evaluated.dead_letters():
        headers = dict(letter.headers)
        rejected.append(
            (headers["topic"].decode(), int(headers["offset"]), headers["class"].decode())
        )
    return rejected


def test_a_new_program_applies_to_the_updates_of_its_batch(tmp_path):
    """Updates of its new predicates are accepted, and its rules derive from them."""
    running = process(tmp_path)
    running.run(0, [fact("edge", A, B)])
    new = "twice(?x) :- path(?x, ?y), mark(?y) ."
    evaluated = running.run(1, [fact("mark", B), fact("edge", B, C)], [control("add", new)])
    assert changed(evaluated) == {("twice", (A,), 1), ("path", (B, C), 1), ("path", (A, C), 1)}
    assert letters(evaluated) == []
    assert (evaluated.applied, evaluated.rejected_control) == (1, 0)
    assert evaluated.new_program.hash == check_text(RULES + new).hash

    gone = running.run(2, [fact("mark", C)], [control("remove", new)])
    assert changed(gone) == {("twice", (A,), -1)}
    assert letters(gone) == [("updates", 0, "unknown-predicate")]


def test_an_epoch_that_fails_with_a_new_program_runs_without_it(tmp_path):
    """All control messages of the batch are rejected; its updates use the old program."""
    running = process(tmp_path)
    running.run(0, [fact("edge", A, B)])
    harmless = control("add", "far(?x) :- path(?x, _) .")
    evaluated = running.run(
        1, [fact("edge", B, C), fact("far", B)], [b"?", harmless, control("add", ENDLESS)]
    )
    assert changed(evaluated) == {("path", (B, C), 1), ("path", (A, C), 1)}
    assert evaluated.new_program is None
    assert letters(evaluated) == [
        ("control", 0, "not-json"),
        ("control", 1, "epoch-failed"),
        ("control", 2, "epoch-failed"),
        ("updates", 1, "unknown-predicate"),
    ]
    _, letter, *_ = evaluated.dead_letters()
    assert b"has not converged after 100 iterations" in dict(letter.headers)["reason"]
    assert running.run(2, (), [harmless]).new_program is not None


def test_an_epoch_that_fails_without_a_new_program_fails(tmp_path):
    """Control messages are not to blame, so the epoch's error is raised."""
    running = process(tmp_path, limit=2)
    chain = [fact("edge", n, n + 1) for n in range(9)]
    for changes in ((), [control("add", "far(?x) :- path(?x, _) .")], [control("add", "?")]):
        with pytest.raises(EngineError, match="has not converged after 2"):
            running.evaluate(0, chain, changes)
    assert changed(running.run(0, [fact("edge", A, B)])) == {("path", (A, B), 1)}


def test_output_declarations_apply_from_their_epoch_on(tmp_path):
    """Retractions of formerly published predicates are still published."""
    rules = f"@output path . {RULES} start(?x) :- edge(?x, _) ."
    running = process(tmp_path, rules)
    assert changed(running.run(0, [fact("edge", A, B)])) == {("path", (A, B), 1)}
    new = "@output start . start(?x) :- edge(?x, _) . other(?x) :- edge(?x, _) ."
    evaluated = running.run(1, [fact("edge", B, C)], [control("replace", new)])
    assert changed(evaluated) == {("path", (A, B), -1), ("start", (B,), 1)}
    assert changed(running.run(2, [fact("edge", C, A)])) == {("start", (C,), 1)}


def test_a_change_of_outputs_alone_is_a_change(tmp_path):
    """The hash stays the same, but the change is stored and survives a restart."""
    running = process(tmp_path)
    evaluated = running.run(0, [fact("edge", A, B)], [control("add", "@output triple .")])
    assert evaluated.new_program.hash == evaluated.before.hash
    assert changed(evaluated) == {("path", (A, B), 1)}
    again = process(tmp_path, before=1)
    assert changed(again.evaluate(1, [fact("edge", B, C)])) == set()


def test_the_time_of_a_change_is_that_of_its_message(tmp_path):
    """An epoch of control messages alone has their Kafka timestamp; rejected ones are ignored."""
    running = process(tmp_path)
    add = control("add", "far(?x) :- path(?x, _) .")
    assert running.run(0, [], [b"?"]).ts == 0
    assert running.run(1, [], [add]).ts == APPENDED.timestamp() * 1000
    later = int(APPENDED.timestamp() * 1000) + 7
    assert running.run(2, [fact("edge", A, B, ts=later)], [add]).ts == later


HISTORY = (
    (
        [fact("edge", A, B), fact("edge", B, A, diff=2)],
        [control("add", "far(?x) :- path(?x, _) .")],
    ),
    ([fact("edge", B, C), fact("far", A)], []),
    ([fact("label", A, "é")], [control("add", 'label("x", 1) . low(min(?n)) :- label(_, ?n) .')]),
    ([fact("label", B, 3), fact("label", C, 2)], [control("add", "?"), control("add", ENDLESS)]),
    (
        [fact("edge", C, A)],
        [
            control(
                "replace", "total(?x, count(?y)) :- edge(?x, ?y) . z(?x) :- far(?x), not v(?x) ."
            )
        ],
    ),
    ([fact("edge", B, C, diff=-1), fact("v", B), fact("label", A, 9)], []),
    ([fact("path", C, C)], [control("add", RULES + "low(min(?n)) :- label(_, ?n) .")]),
    ([fact("edge", A, B, diff=-1)], [control("remove", "far(1) .")]),
)


@pytest.mark.parametrize("stop", range(len(HISTORY)))
def test_a_restart_anywhere_changes_nothing(tmp_path, stop):
    """Restored before any epoch and replayed from there, all is the same: program, ids, changes.

    The tables hold the replayed epoch already, as after a crash behind durable step 1.
    """
    with open_state(tmp_path / "whole") as tables:
        running = Process(tables, 0)
        whole = [running.run(epoch, *batch) for epoch, batch in enumerate(HISTORY)]
        last = running.reasoner
    with open_state(tmp_path / "cut") as tables:
        running = Process(tables, 0)
        for epoch, batch in enumerate(HISTORY[: stop + 1]):
            running.run(epoch, *batch)
    with open_state(tmp_path / "cut") as tables:
        again = Process(tables, stop)
        for epoch, batch in list(enumerate(HISTORY))[stop:]:
            evaluated = again.run(epoch, *batch)
            assert evaluated.program == whole[epoch].program
            assert changed(evaluated) == changed(whole[epoch])
            assert letters(evaluated) == letters(whole[epoch])
        assert [epoch for epoch, _ in tables.programs] == [-1, 0, 2, 4, 6]
    reasoner = again.reasoner
    assert reasoner.program.hash == last.program.hash
    size = len(last.dictionary)
    assert reasoner.dictionary.terms(0, size).equals(last.dictionary.terms(0, size))
    for predicate in last.program.arities:
        assert set(reasoner.trace(predicate)) == set(last.trace(predicate))


def test_the_sum_of_all_changes_is_the_program_from_scratch(tmp_path):
    """After several programs, the changes sum to what the last one derives from the input."""
    running = process(tmp_path, closure=True)
    sums = Counter()
    for epoch, batch in enumerate(HISTORY):
        for predicate, args, sign in changed(running.run(epoch, *batch)):
            sums[predicate, args] += sign
    assert set(sums.values()) <= {0, 1}
    reasoner = running.reasoner
    predicates = reasoner.program.arities
    fresh = Reasoner(reasoner.program)
    fresh.apply(
        Update(predicate, args, multiplicity)
        for predicate in predicates
        for args, iteration, multiplicity in reasoner.trace(predicate)
        if iteration == 0
    )
    for predicate in predicates:
        assert set(fresh.facts(predicate)) == set(reasoner.facts(predicate))
        rows = fresh.engine.facts(predicate)
        assert {args for (name, args), total in sums.items() if total and name == predicate} == {
            tuple(fresh.dictionary.decode(row).to_pylist()) for row in rows
        }
