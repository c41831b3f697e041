"""Epochs with control messages: a new program is in effect from the beginning of its epoch."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime

import pytest
from control_builders import APPENDED, control, messages
from rdflib import URIRef

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.backends.store import columnar
from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.engine.session import Session
from streamreasoner.errors import EngineError, StateError
from streamreasoner.io.codec.decode import InputOptions
from streamreasoner.io.formats.json import write_fact
from streamreasoner.io.formats.registry import NQUADS, of_name
from streamreasoner.io.observer import Observers, PipelineObserver
from streamreasoner.pipeline.evaluator import Evaluator
from streamreasoner.pipeline.published import Published
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.state import Tables
from streamreasoner.state.in_effect import ProgramInEffect, stored_text
from streamreasoner.state.record import EpochRecord
from streamreasoner.state.restore import asserted

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
ENDLESS = "count(0) . count(?m) :- count(?n), ?m = ?n + 1 ."
A, B, C = (f"<http://example.org/{name}>" for name in "abc")
OPTIONS = InputOptions(max_message_bytes=10_000, max_term_bytes=10_000)
PUBLISHED = Published()
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def fact(predicate, *args, diff=1, **fields):
    """An update."""
    return json.dumps({"predicate": predicate, "args": args, "diff": diff, **fields}).encode()


class Process:
    """The memory of a pipeline's process, restored from its tables.

    The epochs from `before` on are not restored: they are replayed.
    """

    def __init__(self, tables, before, *, published=PUBLISHED, limit=100, observer=None):
        programs = [(epoch, program) for epoch, program in tables.programs if epoch < before]
        in_effect = ProgramInEffect.restored(programs, tables.width)
        dictionary = Dictionary()
        tables.restore_terms(dictionary)
        self.tables = tables
        self.session = Session(
            in_effect.checked,
            columnar(dictionary),
            recursion_limit=limit,
            known=in_effect.known,
            known_constraints=in_effect.constraints,
        )
        frontier = tables.record(before - 1).frontier if before else None
        self.reasoner = Reasoner.of_session(self.session)
        self.session.engine.restore(
            tables.restore(before), before, NO_FRONTIER if frontier is None else frontier
        )
        self.evaluator = Evaluator(
            self.session, in_effect, "control", OPTIONS, published, observer or Observers()
        )

    def evaluate(self, epoch, updates=(), changes=()):
        """Evaluate one epoch, in memory only."""
        return self.evaluator.evaluate(messages(control=changes, updates=updates), epoch)

    def run(self, epoch, updates=(), changes=()):
        """Evaluate one epoch, with durable step 1."""
        evaluated = self.evaluate(epoch, updates, changes)
        terms = self.reasoner.session.dictionary
        self.tables.commit(
            EpochRecord(
                epoch,
                {"in": {"0": [epoch, epoch + 1]}},
                evaluated.program.hash,
                frontier=evaluated.frontier,
            ),
            (0, terms.terms(0, len(terms))),
            evaluated.trace,
            [(NOW, evaluated.moments[0].changes)],
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


def changed(evaluated, changes=None):
    """Published changes, or others, as a set of (predicate, args, sign)."""
    return {
        (predicate, args, int(sign))
        for predicate, columns, signs in (
            evaluated.moments[0].changes if changes is None else changes
        )
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


def test_a_program_whose_changes_the_format_cannot_say_is_rejected(tmp_path):
    """It says which predicates, and later messages are applied."""
    triples = "@output triple . [?x, <u:p>, ?y] :- edge(?x, ?y) ."
    running = process(tmp_path, triples, published=Published(format=NQUADS))
    path = "path(?x, ?y) :- edge(?x, ?y) ."
    messages = [control("add", f"@output path . {path}"), control("add", path)]
    evaluated = running.run(0, [fact("edge", A, B)], messages)
    assert changed(evaluated) == {("triple", (A, "<u:p>", B), 1)}
    [letter] = evaluated.dead_letters()
    assert dict(letter.headers)["class"] == b"unpublishable"
    assert b"publishes facts of path, but output.format" in dict(letter.headers)["reason"]
    assert evaluated.applied == 1


@pytest.mark.parametrize(
    ("rules", "closure", "others"),
    [
        ("path(?x, ?y) :- edge(?x, ?y) .", False, "path"),
        ("path(?x, ?y) :- edge(?x, ?y) .", True, "edge, path"),
        ("[?x, <u:p>, ?y] :- edge(?x, ?y) .", False, None),
        ("[?x, <u:p>, ?y] :- edge(?x, ?y) .", True, "edge"),
        ("@output triple . [?x, <u:p>, ?y] :- path(?x, ?y) . path(?x, ?x) :- n(?x) .", True, None),
        ("@output edge . [?x, <u:p>, ?y, ?x] :- edge(?x, ?y) .", False, None),
        ("@output edge . [?x, <u:p>, ?y, ?x] :- edge(?x, ?y) .", True, "edge"),
    ],
)
def test_which_programs_a_format_of_triples_can_publish(rules, closure, others):
    """Those with changes of triples and quads only; JSON can publish every program."""
    program = check_text(rules)
    assert Published(closure).refusal(program) is None
    refusal = Published(closure, of_name("rdf-patch")).refusal(program)
    assert (refusal or "").partition("facts of ")[2].partition(", but")[0] == (others or "")


class Counts(PipelineObserver):
    """Remembers the numbers of violations."""

    def __init__(self):
        self.seen = []

    def violations(self, present):
        """A number for each constraint."""
        self.seen.append(dict(present))


def test_violations_come_and_go_apart_from_changes(tmp_path):
    """They come and go with data and rules, are not changes, and are counted."""
    counts = Counts()
    running = process(tmp_path, observer=counts)
    running.run(0, [fact("edge", A, B)])
    loop = "!loop(?x) :- path(?x, ?x) ."
    added = running.run(1, [fact("edge", B, A), fact("loop", A)], [control("add", loop)])
    assert changed(added) == {("path", args, 1) for args in ((B, A), (A, A), (B, B))}
    assert changed(added, added.moments[0].violations) == {("loop", (A,), 1), ("loop", (B,), 1)}
    assert letters(added) == [("updates", 1, "constraint")]
    assert added.constraints["loop"].message([A]) == f"loop({A})"

    again = Counts()
    running = process(tmp_path, before=2, observer=again)
    gone = running.run(2, [fact("edge", A, B, diff=-1), fact("edge", C, C)])
    assert changed(gone, gone.moments[0].violations) == {
        ("loop", (A,), -1),
        ("loop", (B,), -1),
        ("loop", (C,), 1),
    }
    removed = running.run(3, (), [control("remove", loop)])
    assert changed(removed) == set()
    assert changed(removed, removed.moments[0].violations) == {("loop", (C,), -1)}
    assert counts.seen == [{}, {"loop": 2}]
    assert again.seen == [{"loop": 2}, {"loop": 1}, {}]


def test_changes_of_hidden_predicates_are_not_published(tmp_path):
    """Nor are they when all facts are, until a program does not hide them."""
    running = process(tmp_path, f"@hidden path .\n{RULES}", published=Published(closure=True))
    assert changed(running.run(0, [fact("edge", A, B)])) == {("edge", (A, B), 1)}
    shown = running.run(1, [fact("edge", B, C)], [control("replace", RULES)])
    assert changed(shown) == {
        ("edge", (B, C), 1),
        ("path", (B, C), 1),
        ("path", (A, C), 1),
    }


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


def test_a_topic_of_facts_follows_the_outputs(tmp_path):
    """Facts that are published no longer go, and those that are from now on come, all of them."""
    upsert = Published(upsert=True)
    running = process(
        tmp_path, f"@output path . {RULES} start(?x) :- edge(?x, _) .", published=upsert
    )
    assert changed(running.run(0, [fact("edge", A, B)])) == {("path", (A, B), 1)}
    endless = control("replace", f"@output start . {RULES} {ENDLESS} start(?x) :- edge(?x, _) .")
    assert changed(running.run(1, [fact("edge", B, C)], [endless])) == {
        ("path", (B, C), 1),
        ("path", (A, C), 1),
    }
    new = "@output start, edge . start(?x) :- edge(?x, _) . other(?x) :- edge(?x, _) ."
    batch = [fact("edge", C, A), fact("start", B)], [control("replace", new)]
    expected = {("path", ends, -1) for ends in ((A, B), (B, C), (A, C))}
    expected |= {("start", (A,), 1), ("start", (C,), 1)}
    evaluated = running.run(2, *batch)
    assert changed(evaluated) == changed(evaluated) == expected
    again = process(tmp_path, before=2, published=upsert)
    assert changed(again.run(2, *batch)) == expected


COPIES = "in(?x, ?s) :- in(?x, ?r), part(?r, ?s) . in(?x, ?r) :- near(?x, ?r) ."


def inputs(predicate, *rows):
    """Facts of two arguments, which are not linked to each other."""
    return [fact(predicate, one, two) for one, two in rows]


@pytest.mark.parametrize("closure", [False, True])
def test_facts_that_are_only_inherited_are_not_published(tmp_path, closure):
    """Until they are derived otherwise; what is copied follows the program."""
    rules = f"@input in/2, part/2, near/2 . @output in . {COPIES}"
    published = Published(closure=closure, direct=True)
    running = process(tmp_path, rules, published=published)
    asserted = {("in", (A, B), 1)} if closure else set()
    first = [*inputs("in", (A, B)), *inputs("part", (B, C), (C, A))]
    assert changed(running.run(0, first)) == asserted
    assert changed(running.run(1, inputs("near", (A, C)))) == {("in", (A, C), 1)}
    assert changed(running.run(2, inputs("in", (A, A)))) == (
        {("in", (A, A), 1)} if closure else set()
    )
    other = control("replace", rules.replace("in(?x, ?s) :- in(?x, ?r), part(?r, ?s) .", ""))
    assert changed(running.run(3, [], [other])) == set()
    copying = control("replace", rules.replace("near(?x, ?r)", "near(?x, ?r), part(?r, _)"))
    assert changed(running.run(4, [], [copying])) == set()
    assert changed(running.run(5, [fact("near", A, C, diff=-1)])) == {("in", (A, C), -1)}


def test_a_topic_of_facts_that_are_not_only_inherited(tmp_path):
    """Those that are enter it, and leave it, with their predicate."""
    published = Published(closure=True, direct=True, upsert=True)
    rules = f"@input in/2, part/2, near/2 . @output in . {COPIES}"
    running = process(tmp_path, rules, published=published)
    running.run(0, [*inputs("in", (A, B)), *inputs("part", (B, C)), *inputs("near", (B, B))])
    parts = {("part", (B, C), 1)}
    assert changed(
        running.run(1, [], [control("replace", rules.replace("@output in", "@output part"))])
    ) == parts | {
        ("in", (A, B), -1),
        ("in", (B, B), -1),
    }
    assert changed(running.run(2, [], [control("replace", rules)])) == {
        ("part", (B, C), -1),
        ("in", (A, B), 1),
        ("in", (B, B), 1),
    }


def test_the_time_of_a_change_is_that_of_its_message(tmp_path):
    """An epoch of control messages alone has their Kafka timestamp; rejected ones are ignored."""
    running = process(tmp_path)
    add = control("add", "far(?x) :- path(?x, _) .")
    assert running.run(0, [], [b"?"]).moments[0].ts == 0
    assert running.run(1, [], [add]).moments[0].ts == APPENDED.timestamp() * 1000
    later = int(APPENDED.timestamp() * 1000) + 7
    assert running.run(2, [fact("edge", A, B, ts=later)], [add]).moments[0].ts == later


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
    size = len(last.session.dictionary)
    assert reasoner.session.dictionary.terms(0, size).equals(last.session.dictionary.terms(0, size))
    for predicate in last.program.arities:
        assert set(reasoner.trace(predicate)) == set(last.trace(predicate))


def test_the_sum_of_all_changes_is_the_program_from_scratch(tmp_path):
    """After several programs, the changes sum to what the last one derives from the input."""
    running = process(tmp_path, published=Published(closure=True))
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
        rows = fresh.session.engine.facts(predicate)
        assert {args for (name, args), total in sums.items() if total and name == predicate} == {
            tuple(fresh.session.dictionary.decode(row).to_pylist()) for row in rows
        }


PRESENCE = """
@expires seen/2 after "PT10S" .
occupied(?room) :- seen(_, ?room) .
"""
APPENDED_MS = int(APPENDED.timestamp() * 1000)


def seen(who, ts, diff=1):
    """A heartbeat in the hall, so many milliseconds after the batch was appended."""
    return fact("seen", who, B, diff=diff, ts=APPENDED_MS + ts)


def tick(ts):
    """A tick, so many milliseconds after the batch was appended."""
    return json.dumps({"tick": APPENDED_MS + ts}).encode()


class Results(PipelineObserver):
    """Keeps the result of the last epoch."""

    def epoch_evaluated(self, result, program):  # noqa: ARG002 - part of the event
        """The engine has applied an epoch."""
        self.last = result


def test_a_tick_lets_facts_expire(tmp_path):
    """A tick is not a change of the program; what is due at its time leaves in its epoch."""
    results = Results()
    running = process(tmp_path, PRESENCE, observer=results)
    assert changed(running.run(0, [seen(A, -60_000)])) == {("occupied", (B,), 1)}
    early = running.run(1, changes=[tick(-50_001)])
    assert (changed(early), early.applied, early.new_program) == (set(), 0, None)

    expired = running.run(2, changes=[tick(-50_000)])
    assert changed(expired) == {("occupied", (B,), -1)}
    assert expired.moments[0].ts == expired.frontier == APPENDED_MS - 50_000
    assert (results.last.expired, results.last.late) == (1, 0)
    late = running.run(3, [seen(C, -60_000)])
    assert (changed(late), results.last.late) == (set(), 1)
    assert len(running.reasoner.session.engine.trace("seen").args) == 0


def test_a_time_from_the_future_moves_the_frontier_a_little(tmp_path):
    """A wrong clock does not expire what others assert; the wrong assertion itself stays."""
    running = process(tmp_path, PRESENCE)
    evaluated = running.run(0, [seen(A, 55_000), seen(C, 10**9)])
    assert evaluated.frontier == APPENDED_MS + OPTIONS.max_ahead
    assert {args[0] for args in running.reasoner.facts("seen")} == {
        URIRef(A[1:-1]),
        URIRef(C[1:-1]),
    }

    ticked = running.run(1, changes=[tick(10**9)])
    assert ticked.frontier == APPENDED_MS + OPTIONS.max_ahead


@pytest.mark.parametrize("before", [1, 2])
def test_expiry_is_replayed_as_it_was(tmp_path, before):
    """Frontier and deadlines come back from the tables, also for an epoch that they have."""
    first = process(tmp_path, PRESENCE)
    batches = [[seen(A, 0)], [seen(C, 5_000)], [seen(C, 12_000, -1)], [seen(C, 40_000)]]
    expected = [changed(first.run(epoch, batch)) for epoch, batch in enumerate(batches)]
    assert expected[2:] == [{("occupied", (B,), -1)}, {("occupied", (B,), 1)}]
    traces = {name: first.reasoner.session.engine.trace(name) for name in ("seen", "asserted@seen")}

    tables = open_state(tmp_path, PRESENCE)
    again = Process(tables, before)
    for epoch in range(before, 4):
        evaluated = again.evaluate(epoch, batches[epoch])
        assert changed(evaluated) == expected[epoch]
        assert evaluated.frontier == tables.record(epoch).frontier
    for name, trace in traces.items():
        assert (
            again.reasoner.session.engine.trace(name).multiplicity.tolist()
            == trace.multiplicity.tolist()
        )


def test_a_replay_at_another_frontier_is_refused(tmp_path):
    """With another allowed lateness the replay of an epoch could let other facts expire."""
    process(tmp_path, PRESENCE).run(0, [seen(A, 0)])
    again = process(tmp_path, PRESENCE)
    again.evaluator._lateness = 5_000  # noqa: SLF001 - a restart with another configuration
    with pytest.raises(StateError, match=r"with the frontier .* Replay it with the \[time\]"):
        again.run(0, [seen(A, 0)])


def test_what_expires_does_not_change(tmp_path):
    """A change of program with other @expires is rejected; the same ones may be sent again."""
    running = process(tmp_path, PRESENCE)
    running.run(0, [seen(A, 0)])
    longer = PRESENCE.replace("PT10S", "PT20S")
    evaluated = running.run(1, changes=[control("replace", longer), control("replace", "p(1) .")])
    assert letters(evaluated) == [("control", n, "other-expiries") for n in (0, 1)]
    more = PRESENCE + "crowd(?room, count(?who)) :- seen(?who, ?room) .\n"
    assert running.run(2, changes=[control("replace", more)]).applied == 1
    assert changed(running.run(3, changes=[tick(10_000)])) >= {("occupied", (B,), -1)}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b'{"tick": "now"}', "bad-timestamp"),
        (b'{"tick": 1e300}', "bad-timestamp"),
        (b'{"tick": 253402300800000}', "bad-timestamp"),
        (b'{"tick": 5, "operation": "add"}', "unknown-field"),
        (b'{"ticks": 5}', "unknown-field"),
    ],
)
def test_a_tick_that_is_none_is_rejected(tmp_path, value, kind):
    """It moves nothing, and its dead letter says what is wrong."""
    evaluated = process(tmp_path, PRESENCE).run(0, changes=[value])
    assert letters(evaluated) == [("control", 0, kind)]
    assert evaluated.frontier is None


def test_a_state_is_rebuilt_with_its_times(tmp_path):
    """Sent to a new pipeline, the asserted facts expire and are renewed as in the old one."""
    first = process(tmp_path / "first", PRESENCE)
    first.run(
        0, [seen(A, 0), seen(A, 3_000), seen(C, 4_000, -1), seen(B, 2_000), seen(B, 5_000, -1)]
    )
    rows = [
        json.loads(write_fact(predicate, args, diff, ts))
        for predicate, args, diff, ts in asserted(tmp_path / "first", 1)
    ]
    assert {(row["args"][0], row["diff"], row["ts"] - APPENDED_MS) for row in rows} == {
        (A, 1, 3_000), (B, 1, 2_000), (B, -1, 5_000), (C, -1, 4_000)
    }  # fmt: skip
    again = process(tmp_path / "again", PRESENCE)
    again.run(0, [json.dumps(row).encode() for row in rows])
    for running, epoch in ((first, 1), (again, 1)):
        assert changed(running.run(epoch, [seen(C, 3_500)])) == set()
        expired = running.run(epoch + 1, changes=[tick(13_000)])
        assert changed(expired) == {("occupied", (B,), -1)}
