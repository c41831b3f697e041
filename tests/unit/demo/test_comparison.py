"""The comparison with an evaluation from scratch: it accepts only equal results."""

from __future__ import annotations

import numpy as np
import pytest

from streamreasoner import Reasoner
from streamreasoner.demo.university import Change, university
from streamreasoner.demo.verdict import compare
from streamreasoner.engine.updates import Updates
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.program import load_program


class Pipeline:
    """A pipeline without Kafka and Spark: an epoch per event, changes kept in lists."""

    def __init__(self):
        self.reasoner = Reasoner(load_program("rho-df"))
        self.given, self.published = [], []

    def take(self, epoch, updates):
        """One epoch."""
        intern = self.reasoner.dictionary.intern
        ids = np.array([[intern(term) for term in update.fact] for update in updates], np.int32)
        diffs = np.array([update.diff for update in updates], np.int64)
        result = self.reasoner.engine.apply(epoch, [Updates(TRIPLE, ids, diffs)])
        self.given += updates
        for changes in result.derived:
            terms = [
                self.reasoner.dictionary.decode(column).to_pylist() for column in changes.args.T
            ]
            self.published += [
                Change(tuple(fact), diff, epoch)
                for *fact, diff in zip(*terms, changes.multiplicity.tolist(), strict=True)
            ]


@pytest.fixture
def pipeline():
    """A pipeline after the opening and further events with schema changes."""
    taken = Pipeline()
    for epoch, event in zip(range(150), university(5, 40), strict=False):
        taken.take(epoch, event.updates)
    return taken


def test_what_was_kept_up_to_date_is_equal(pipeline):
    """Summed output and trace equal those of an evaluation from scratch."""
    verdict = compare(pipeline.given, pipeline.published, pipeline.reasoner)

    output, trace = verdict.comparisons
    assert verdict.equal
    assert verdict.asserted > 1000
    assert output.incremental == output.scratch > 1000
    assert trace.incremental == trace.scratch > 2000


def test_a_lost_change_is_a_difference(pipeline):
    """A missing change is found and named."""
    lost = next(change for change in reversed(pipeline.published) if change.diff > 0)
    pipeline.published.remove(lost)

    verdict = compare(pipeline.given, pipeline.published, pipeline.reasoner)

    output, trace = verdict.comparisons
    assert not verdict.equal
    assert len(output.differences) == 1
    assert "0 kept up to date, 1 from scratch" in output.differences[0]
    assert trace.equal


def test_a_change_published_twice_is_a_difference(pipeline):
    """A surplus change is found and named."""
    pipeline.published.append(pipeline.published[-1])

    verdict = compare(pipeline.given, pipeline.published, pipeline.reasoner)

    assert not verdict.equal
    assert len(verdict.comparisons[0].differences) == 1


def test_input_that_was_not_taken_is_a_difference(pipeline):
    """The trace of a reasoner that missed an update differs, with fact and iteration."""
    fact = ("<a:x>", "<a:p>", "<a:y>")
    pipeline.given.append(Change(fact, 1))

    verdict = compare(pipeline.given, pipeline.published, pipeline.reasoner)

    assert not verdict.equal
    assert verdict.comparisons[1].differences == (
        "<a:x> <a:p> <a:y>, iteration 0: 0 kept up to date, 1 from scratch",
    )


def test_only_the_first_differences_are_told(pipeline):
    """However many rows differ, five are shown."""
    verdict = compare(pipeline.given, [], pipeline.reasoner)

    assert len(verdict.comparisons[0].differences) == 5
