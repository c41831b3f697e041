"""The comparison with an evaluation from scratch: it accepts only equal results."""

from __future__ import annotations

import json

import numpy as np
import pytest

from streamreasoner.backends.store import columnar
from streamreasoner.demo.ontology import TYPE
from streamreasoner.demo.university import Change, university
from streamreasoner.demo.verdict import compare, taken
from streamreasoner.engine.session import Session
from streamreasoner.engine.updates import Updates
from streamreasoner.io.codec.encode import Received
from streamreasoner.program import load_program
from streamreasoner.program.edit import with_rules

TOPIC = "university"


class Pipeline:
    """A pipeline without Kafka and Spark: an epoch per event, changes kept in lists."""

    def __init__(self):
        self.session = Session(load_program("rho-df"), columnar())
        self.given, self.published, self.epochs = [], [], 0

    def send(self, value, headers=()):
        """A message of the input topic, which no epoch has taken yet."""
        self.given.append(Received(value, None, [*headers], TOPIC, 0, len(self.given), 0))

    def take(self, updates):
        """An epoch of updates of one predicate, with a message for each."""
        for each in updates:
            fields = {"predicate": each.predicate, "args": each.fact, "diff": each.diff}
            self.send(json.dumps(fields).encode())
        self.evaluate(updates)

    def evaluate(self, updates):
        """An epoch of updates of one predicate, without messages."""
        intern = self.session.dictionary.intern
        ids = np.array([[intern(term) for term in update.fact] for update in updates], np.int32)
        diffs = np.array([update.diff for update in updates], np.int64)
        taken = [Updates(updates[0].predicate, ids, diffs)]
        self.publish(self.session.engine.apply(self.epochs, taken))

    def add(self, rules):
        """An epoch that adds rules."""
        self.adopt(with_rules(self.session.program, rules, "guest.dl"))

    def adopt(self, program):
        """An epoch that changes the program."""
        self.publish(self.session.apply((), program, epoch=self.epochs))

    def publish(self, result):
        """Keep the derived changes of an epoch."""
        for changes in result.derived:
            terms = [
                self.session.dictionary.decode(column).to_pylist() for column in changes.args.T
            ]
            self.published += [
                Change(tuple(fact), diff, self.epochs, changes.predicate)
                for *fact, diff in zip(*terms, changes.multiplicity.tolist(), strict=True)
            ]
        self.epochs += 1

    @property
    def difference(self):
        """What the comparison says first of the output topic, None if it finds nothing."""
        output = compare(self.given, self.published, self.session).comparisons[0]
        return next(iter(output.differences), None)


@pytest.fixture
def pipeline():
    """A pipeline after the opening and further events with schema changes."""
    new = Pipeline()
    for _, event in zip(range(150), university(5, 40), strict=False):
        new.take(event.updates)
    return new


def test_what_was_kept_up_to_date_is_equal(pipeline):
    """Summed output and trace equal those of an evaluation from scratch."""
    verdict = compare(pipeline.given, pipeline.published, pipeline.session)

    output, trace = verdict.comparisons
    assert verdict.equal
    assert verdict.asserted > 1000
    assert output.incremental == output.scratch > 1000
    assert trace.incremental == trace.scratch > 2000


def test_a_lost_change_is_a_difference(pipeline):
    """A missing change is found and named."""
    lost = next(change for change in reversed(pipeline.published) if change.diff > 0)
    pipeline.published.remove(lost)

    verdict = compare(pipeline.given, pipeline.published, pipeline.session)

    output, trace = verdict.comparisons
    assert not verdict.equal
    assert len(output.differences) == 1
    assert "0 kept up to date, 1 from scratch" in output.differences[0]
    assert trace.equal


def test_a_change_published_twice_is_a_difference(pipeline):
    """A surplus change is found and named."""
    pipeline.published.append(pipeline.published[-1])

    verdict = compare(pipeline.given, pipeline.published, pipeline.session)

    assert not verdict.equal
    assert len(verdict.comparisons[0].differences) == 1


def test_input_that_was_not_taken_is_a_difference(pipeline):
    """The trace of a reasoner that missed an update differs, with fact and iteration."""
    pipeline.send(b'{"s": "<a:x>", "p": "<a:p>", "o": "<a:y>", "diff": 1}')

    verdict = compare(pipeline.given, pipeline.published, pipeline.session)

    assert not verdict.equal
    assert verdict.comparisons[1].differences == (
        "<a:x> <a:p> <a:y>, iteration 0: 0 kept up to date, 1 from scratch",
    )


def test_only_the_first_differences_are_told(pipeline):
    """However many rows differ, five are shown."""
    verdict = compare(pipeline.given, [], pipeline.session)

    assert len(verdict.comparisons[0].differences) == 5


def test_what_guests_send_is_compared(pipeline):
    """Messages of other formats; rules of theirs, and facts of other predicates."""
    turtle = [("content-type", b"text/turtle")]
    pipeline.send(b"<a:x> a <a:C> . <a:C> <a:p> <a:y> .", turtle)
    pipeline.evaluate([Change(("<a:x>", TYPE, "<a:C>"), 1), Change(("<a:C>", "<a:p>", "<a:y>"), 1)])
    pipeline.add("@input of/1 .  asked(?x) :- [?x, a, <a:C>], of(?x) .  of(<a:y>) .")
    pipeline.take([Change(("<a:x>",), 1, predicate="of")])

    assert compare(pipeline.given, pipeline.published, pipeline.session).equal
    answer = pipeline.published.pop()
    assert (answer.predicate, answer.fact, answer.diff) == ("asked", ("<a:x>",), 1)
    assert pipeline.difference == "asked(<a:x>): 0 kept up to date, 1 from scratch"


def test_facts_that_wait_for_rules_are_not_compared(pipeline):
    """The program has no predicate for them any more; what they derived has gone."""
    pipeline.add("@input of/1 .  asked(?x) :- of(?x) .")
    pipeline.take([Change(("<a:x>",), 1, predicate="of")])
    pipeline.adopt(load_program("rho-df"))

    assert [each.diff for each in pipeline.published if each.predicate == "asked"] == [1, -1]
    assert compare(pipeline.given, pipeline.published, pipeline.session).equal
    assert len(pipeline.session.engine.facts("of")) == 1


def test_only_messages_that_were_taken_are_compared(pipeline):
    """Neither those that came after the last epoch nor those that were rejected."""
    position = {TOPIC: {"0": [0, len(pipeline.given) + 1]}, "rules": {"0": [0, 3]}}
    before = [*pipeline.given]
    place = [("topic", TOPIC.encode()), ("partition", b"0"), ("offset", b"%d" % len(before))]
    pipeline.send(b"not JSON")
    pipeline.send(b'{"s": "<a:x>", "p": "<a:p>", "o": "<a:y>", "diff": 1}')
    rejected = [Received(b"not JSON", None, place, "dead", 0, 0, 0)]

    assert taken(pipeline.given, rejected, position) == before
    assert taken(pipeline.given, [], position) == pipeline.given[:-1]
