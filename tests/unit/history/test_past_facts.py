"""Facts at the ends of past epochs are those that the engine had then, or the epoch is refused."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from itertools import combinations_with_replacement

import pytest
from hierarchies import scenarios
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from road_epochs import EX, LATTICES, NUMBER, PLAIN, UPDATES
from stored_epochs import BEGINNING, StoredReasoner
from strategies import Scenario
from thorough import THOROUGH

from streamreasoner.engine.updates import TRACE_EPOCHS
from streamreasoner.errors import CircularNegationError, StateError
from streamreasoner.facts import Fact, FactPattern
from streamreasoner.history.epochs import Past
from streamreasoner.history.past_facts import PastFacts
from streamreasoner.lang.ast import NOWHERE, Constant, Variable
from streamreasoner.state.delta import snapshot
from streamreasoner.state.delta.retention import NONE
from streamreasoner.state.maintenance.exactness import exact_from


@settings(max_examples=200 if THOROUGH else 8)
@given(
    epochs=st.lists(st.tuples(UPDATES, st.sampled_from([None, None, LATTICES, PLAIN])), max_size=6),
    horizon=st.integers(-1, 5),
    closure=st.booleans(),
)
def test_an_answer_is_exact_or_refused(tmp_path_factory, epochs, horizon, closure):
    """State, differences and histories agree with what the engine had at the end of each epoch."""
    with closing(
        StoredReasoner(tmp_path_factory.mktemp("past"), LATTICES, closure=closure)
    ) as stored:
        stored.run([("start", (EX("a"),), 1), ("road", (EX("a"), EX("b"), NUMBER(3)), 1)])
        for updates, rules in epochs:
            stored.run(updates, rules)
        stored.merge(min(horizon, stored.epoch - 2))
        past = Past(stored.directory)
        facts = PastFacts(past)

        assert past.last == stored.epoch - 1
        assert past.oldest <= max(horizon, 0)
        for epoch in range(past.oldest):
            with pytest.raises(StateError, match=f"Epoch {epoch} is too old"):
                list(facts.facts(FactPattern("start"), epoch))
        known = range(past.oldest, stored.epoch)
        for epoch in known:
            found = [
                fact
                for predicate in stored.arities[epoch]
                for fact in facts.facts(FactPattern(predicate), epoch)
            ]
            assert len(found) == len(set(found))
            assert set(found) == stored.present[epoch]
        for first, last in combinations_with_replacement(known, 2):
            before, after = stored.present[first], stored.present[last]
            differences = list(facts.differences(first, last))
            assert {fact for fact, sign in differences if sign > 0} == after - before
            assert {fact for fact, sign in differences if sign < 0} == before - after
            assert len(differences) == len(before ^ after)
        for fact in set().union(*stored.present):
            check_history(facts, fact, stored)


ASSERTED_EDGES = Scenario(
    "@input in/2, part/2 . part(?a, ?b) :- in(?a, ?b) . "
    "in(?x, ?s) :- in(?x, ?r), asserted part(?r, ?s) .",
    [
        [("in", ("<x>", "<a>"), 1), ("part", ("<a>", "<b>"), 1), ("part", ("<b>", "<c>"), 1)],
        [("in", ("<x>", "<c>"), 1), ("part", ("<a>", "<b>"), -1)],
    ],
)


@settings(max_examples=200 if THOROUGH else 10)
@given(scenario=scenarios(), asserted=st.booleans())
@example(scenario=ASSERTED_EDGES, asserted=True)
def test_direct_facts_are_those_of_the_engine(tmp_path_factory, scenario, asserted):
    """At the end of each epoch, without those that are only inherited."""
    with closing(StoredReasoner(tmp_path_factory.mktemp("direct"), scenario.program)) as stored:
        program, engine = stored.reasoner.program, stored.reasoner.session.engine
        expected = []
        for epoch in scenario.epochs:
            try:
                stored.run(epoch)
            except CircularNegationError:
                reject()  # the facts leave the program without a meaning
            expected.append({})
            for predicate in program.published:
                args = engine.facts(predicate)
                if not asserted:
                    args = args[engine.asserted(predicate, args) <= 0]
                args = args[engine.direct(program.copied, predicate, args)]
                expected[-1][predicate] = {*map(tuple, args.tolist())}
        facts = PastFacts(Past(stored.directory))
        for number, each in enumerate(expected):
            for predicate, args in each.items():
                rows, _ = facts.published(predicate, number, asserted=asserted, direct=True)
                assert len(rows) == len(args)
                assert {*map(tuple, rows.tolist())} == args


def check_history(facts, fact, stored):
    """The events are the epochs at which presence changed, from the oldest on."""
    history, past = facts.history(fact), facts.past
    presence = [fact in present for present in stored.present]
    before = presence[past.oldest] if past.summed else False
    expected = []
    for epoch in range(past.oldest + past.summed, stored.epoch):
        if presence[epoch] != before:
            expected.append((epoch, 1 if presence[epoch] else -1))
        before = presence[epoch]
    assert [(event.epoch, event.diff) for event in history.events] == expected
    assert history.is_present == presence[-1]
    for event in history.events:
        assert event.time in {None, BEGINNING + timedelta(hours=event.epoch)}
    if stored.closure:
        seen = [sum(e.diff for e in history.published), history.was_present]
        assert seen == [history.was_present] * 2


def test_a_pattern_selects_facts_in_order(tmp_path):
    """Constants and repeated variables select; facts are in the order of terms."""
    with closing(StoredReasoner(tmp_path, LATTICES)) as stored:
        stored.run([("road", (EX("a"), EX(to), NUMBER(w)), 1) for to, w in [("a", 10), ("b", 9)]])
        facts = PastFacts(Past(tmp_path))

    x, w = Variable("x", NOWHERE), Variable("w", NOWHERE)
    road = FactPattern("road", (x, x, w))
    assert [fact.arguments[1] for fact in facts.facts(road, 0)] == [EX("a")]
    best = FactPattern("triple", (Constant(EX("a"), NOWHERE), x, w))
    assert next(facts.facts(best, 0)) == Fact("triple", (EX("a"), EX("best"), NUMBER(10)))


def test_a_state_is_read_while_its_files_are_merged_and_deleted(tmp_path):
    """What was opened before stays as it was: files are held, whatever maintenance deletes."""
    with closing(StoredReasoner(tmp_path, LATTICES)) as stored:
        for epoch in range(4):
            stored.run([("start", (EX(f"n{epoch}"),), 1)])
        facts = PastFacts(Past(tmp_path))
        stored.merge(2)
        stored.tables._tables["trace"].clean(NONE)  # noqa: SLF001 - what maintenance does

        files = {file.path for file in facts.past._trace.files()}  # noqa: SLF001 - those held
        assert not any((tmp_path / "trace" / file).exists() for file in files)
        for epoch in range(4):
            found = list(facts.facts(FactPattern("start"), epoch))
            assert set(found) == {f for f in stored.present[epoch] if f.predicate == "start"}


def test_what_was_lost_before_it_was_recorded_is_refused(tmp_path):
    """A trace of a release that did not record what it summed answers for its last 1000 epochs."""
    with closing(StoredReasoner(tmp_path, LATTICES)) as stored:
        stored.run([])
    recorded = snapshot.read(tmp_path / "trace")
    unrecorded = type(recorded)(
        *(
            {} if name == "transactions" else getattr(recorded, name)
            for name in recorded.__dataclass_fields__
        )
    )

    assert [exact_from(recorded, "trace", last) for last in (5, TRACE_EPOCHS + 5)] == [-1, -1]
    assert [exact_from(unrecorded, "trace", last) for last in (5, TRACE_EPOCHS + 5)] == [-1, 5]
    assert exact_from(unrecorded, "changes", TRACE_EPOCHS + 5) == -1


def test_an_epoch_that_is_half_written_is_not_there(tmp_path):
    """If a table lacks the rows of the last epoch, the one before it is the last complete one."""
    with closing(StoredReasoner(tmp_path, LATTICES)) as stored:
        for name in "ab":
            stored.run([("start", (EX(name),), 1)])
    newest = max((tmp_path / "changes/_delta_log").glob("*.json"))
    newest.unlink()
    facts = PastFacts(Past(tmp_path))

    assert facts.past.last == 0
    assert [fact.arguments for fact in facts.facts(FactPattern("start"), 0)] == [(EX("a"),)]
    with pytest.raises(StateError, match="Epoch 1 is not complete; the last complete one is 0"):
        facts.past.check(1)
