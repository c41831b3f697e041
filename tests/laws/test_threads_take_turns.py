"""Threads at one reasoner take turns: the outcome is that of some order of their calls."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from thorough import THOROUGH
from threads import check_turns

from streamreasoner import Reasoner, Update
from streamreasoner.api.asking.epoch import TermsOfEpoch
from streamreasoner.engine.turn import Turn
from streamreasoner.rdf.dictionary import Dictionary

SECONDS = 600 if THOROUGH else 0
WAIT_SECONDS = 60


def test_eight_threads_take_turns(tmp_path):
    """Differences are those of the same changes by one thread; what is read is one epoch."""
    end = time.monotonic() + SECONDS
    for seed in itertools.count():
        changes, reads = check_turns(seed, tmp_path, times=5 if THOROUGH else 2)
        assert changes > 16
        assert reads > 4
        if time.monotonic() >= end:
            break


def test_threads_have_reasoners_of_their_own(tmp_path):
    """Two reasoners share nothing that a thread changes."""
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda seed: check_turns(seed, tmp_path, threads=2, times=2), range(2))
        assert all(changes > 1 for changes, _ in done)


def test_updates_may_wait_for_another_thread():
    """What makes the updates of an epoch has no turn, so other threads need not wait for it."""
    reasoner, asked = Reasoner.from_rules("q(?x) :- p(?x) ."), threading.Event()

    def updates():
        assert asked.wait(WAIT_SECONDS)
        yield Update("p", (1,))

    with ThreadPoolExecutor(1) as pool:
        applied = pool.submit(reasoner.apply, updates())
        assert not reasoner.facts("q")
        asked.set()
        assert applied.result(WAIT_SECONDS).epoch == 0
    assert reasoner.facts("q") == [(1,)]


def test_a_turn_is_lent_while_items_are_made():
    """A thread that makes items for the holder of a turn does not wait for it; others do."""
    turn = Turn()
    items = turn.each(iter("ab"))
    with ThreadPoolExecutor(2) as pool:
        with turn:
            assert pool.submit(next, turn.lend(items)).result(WAIT_SECONDS) == "a"
            other = pool.submit(next, items)
            with pytest.raises(TimeoutError):
                other.result(0.05)
        assert other.result(WAIT_SECONDS) == "b"
    assert list(items) == []
    assert list(turn.lend(items)) == []


def test_later_terms_are_not_those_of_an_epoch():
    """A term that comes after an epoch is not found among its terms; the others are decoded."""
    dictionary = Dictionary()
    before = dictionary.intern('"a"')
    terms = TermsOfEpoch(dictionary, len(dictionary), Turn())
    assert dictionary.intern('"b"') == before + 1
    assert (terms.find('"a"'), terms.find('"b"'), terms.find('"c"')) == (before, None, None)
