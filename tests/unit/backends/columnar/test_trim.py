"""Memory that large epochs return: how much, and that nothing depends on it."""

from __future__ import annotations

import mmap

import numpy as np
import psutil

from streamreasoner import Reasoner
from streamreasoner.backends.columnar import arena, backend
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.engine.updates import Updates

RULES = """
r(?x, ?y) :- e(?x, ?y) .
r(?x, ?z) :- r(?x, ?y), f(?y, ?z) .
t(?x, ?y, ?z) :- e(?x, ?y), e(?y, ?z), e(?z, ?x) .
m(?x, min(?z)) :- e(?x, ?z) .
n(?x, count(?y)) :- e(?x, ?y) .
"""
PREDICATES = ("e", "f", "r", "t", "m", "n")


def ids(reasoner, count):
    """Ids of as many integers."""
    return np.array(
        [reasoner.session.dictionary.intern(f"<urn:{n}>") for n in range(count)], np.int32
    )


def epochs(reasoner):
    """Run epochs that add and delete many facts, some of which are rolled back."""
    random, numbers = np.random.default_rng(0), ids(reasoner, 1500)
    before = np.empty((0, 2), np.int64)
    for _ in range(4):
        added = random.integers(0, len(numbers), (2000, 2))
        updates = [
            Updates(name, numbers[rows], np.full(len(rows), sign, np.int64))
            for name, rows, sign in (
                ("e", added, 1),
                ("f", added[:200], 1),
                ("e", before[::2], -1),
            )
        ]
        reasoner.session.rehearse(updates)
        reasoner.session.apply(updates)
        before = added
    return {name: sorted(map(repr, reasoner.trace(name))) for name in PREDICATES}


def test_nothing_depends_on_what_is_returned(monkeypatch):
    """With all pages but the first returned after each epoch, the traces are the same."""
    kept = epochs(Reasoner.from_rules(RULES))
    monkeypatch.setattr(backend, "LARGE_EPOCH", 0)
    monkeypatch.setattr(arena, "KEPT_BYTES", mmap.PAGESIZE)

    assert epochs(Reasoner.from_rules(RULES)) == kept
    assert all(kept[name] for name in ("e", "f", "r", "m", "n"))


def test_the_beginning_of_a_column_is_kept(monkeypatch):
    """What is returned are the pages beyond those that small epochs use."""
    monkeypatch.setattr(arena, "KEPT_BYTES", 1 << 20)
    state = Reasoner.from_rules("q(?x) :- p(?x) .").session.engine._backend._state  # noqa: SLF001 - to measure it
    journal = state._reserved[layout.JOURNAL_FACTS].array  # noqa: SLF001 - see above
    journal[: 32 << 17] = 1
    before = psutil.Process().memory_info().rss
    state.trim(fits=False)

    assert before - psutil.Process().memory_info().rss > 24 << 20
    assert journal[: 1 << 17].all()
    assert not journal[1 << 17 : 32 << 17].any()
