"""The generator of the demo's stream."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import islice

import pytest

from streamreasoner.demo.ontology import EDGES, TYPE
from streamreasoner.demo.university import EventKind, university
from streamreasoner.rdf.terms import canonical
from streamreasoner.rdf.vocabulary import RDFS

EVENTS = 1500
PRINT_DIGEST = """
import hashlib, itertools
from streamreasoner.demo.university import university
text = repr(list(itertools.islice(university(3, 50), 400)))
print(hashlib.sha256(text.encode()).hexdigest())
"""


@pytest.fixture(scope="module", params=[0, 1, 2])
def events(request):
    """The beginning of a stream."""
    return list(islice(university(request.param, 100), EVENTS))


def updates(events):
    """All updates in order."""
    return [update for event in events for update in event.updates]


def test_the_same_seed_gives_the_same_stream_in_every_process():
    """The stream depends on the seed, not on how a process hashes strings."""
    digests = {
        subprocess.run(
            [sys.executable, "-c", PRINT_DIGEST],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }

    assert len(digests) == 1


def test_another_seed_gives_another_stream():
    """Streams of two seeds differ."""
    first, second = (list(islice(university(seed, 100), 50)) for seed in (0, 1))

    assert first != second


def test_nothing_is_retracted_that_is_not_asserted(events):
    """After every update, each triple is asserted once or not at all."""
    asserted = Counter()
    for update in updates(events):
        asserted[update.fact] += update.diff

        assert asserted[update.fact] in {0, 1}


def test_every_term_is_canonical(events):
    """Terms are sent in the form in which the output topic has them."""
    terms = {term for update in updates(events) for term in update.fact}

    assert {term for term in terms if canonical(term) != term} == set()


def test_every_event_updates_something(events):
    """An event has a sentence and at least one update."""
    assert all(event.sentence and event.updates for event in events)


def test_the_opening_comes_first_and_once(events):
    """The stream begins with the schema and the departments; other events follow."""
    opening = [event.kind is EventKind.OPENING for event in events]

    assert opening == sorted(opening, reverse=True)
    assert {update.fact for update in events[0].updates} == set(EDGES)


def test_about_a_quarter_of_life_is_retractions(events):
    """Of the updates after the opening, 20 to 30 % retract."""
    diffs = Counter(
        update.diff
        for event in events
        if event.kind is EventKind.EVERYDAY
        for update in event.updates
    )

    assert 0.2 < diffs[-1] / diffs.total() < 0.3


def test_the_schema_changes_at_the_given_pace(events):
    """Schema changes are the requested number of updates apart, plus or minus an event."""
    gaps, since = [], 0
    for event in events:
        if event.kind is EventKind.SCHEMA:
            gaps.append(since)
            since = 0
        elif event.kind is EventKind.EVERYDAY:
            since += len(event.updates)

    longest = max(len(event.updates) for event in events if event.kind is EventKind.EVERYDAY)
    assert len(gaps) > 10
    assert all(100 <= gap < 100 + longest for gap in gaps)


def test_schema_changes_add_and_withdraw_edges_of_every_kind(events):
    """Schema changes add and remove sub-classes, sub-properties and domains."""
    changes = [event.updates[0] for event in events if event.kind is EventKind.SCHEMA]
    kinds = {update.fact[1] for update in changes}

    assert {update.diff for update in changes} == {1, -1}
    assert kinds == {f"<{RDFS}{name}>" for name in ("subClassOf", "subPropertyOf", "domain")}


def test_who_leaves_is_forgotten(events):
    """After someone has left, no asserted triple mentions them."""
    asserted, gone = set(), 0
    for event in events:
        for update in event.updates:
            (asserted.add if update.diff > 0 else asserted.remove)(update.fact)
        if event.sentence.endswith((" leaves", " graduates", " ends", " is withdrawn")):
            one = next(up.fact[0] for up in event.updates if up.fact[1] == TYPE)
            gone += 1

            assert not any(one in triple for triple in asserted)
    assert gone > 50
