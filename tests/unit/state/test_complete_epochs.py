"""Which epoch is complete after a crash between any two appends."""

from __future__ import annotations

from itertools import chain, combinations
from types import SimpleNamespace

import pytest

from streamreasoner.errors import StateError
from streamreasoner.state import commit, schemas
from streamreasoner.state.record import EpochRecord, TableRecord

OTHERS = tuple(name for name in schemas.NAMES if name != schemas.TRACE)
EARLIER = {schemas.TERMS: 3, schemas.CHANGES: 4, schemas.PROGRAMS: None}


def subsets(names):
    """Every subset."""
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


def record(epoch, rows):
    """What `trace` records of an epoch that has rows in these tables."""
    latest = {name: epoch if name in rows else EARLIER[name] for name in OTHERS}
    known = {name: last for name, last in latest.items() if last is not None}
    return TableRecord(epoch, epoch - 1, known, {}, None)


def tables(written):
    """The tables after epoch 4 and these appends of epoch 5."""
    earlier = {**EARLIER, schemas.TRACE: 4}
    return {
        name: SimpleNamespace(epoch=5 if name in written else earlier[name], directory=name)
        for name in schemas.NAMES
    }


@pytest.mark.parametrize("rows", list(subsets(OTHERS)), ids="-".join)
def test_an_epoch_is_complete_once_every_append_is(rows):
    """Otherwise the one before is, and the interrupted one is known from the tables alone."""
    for written in subsets((*rows, schemas.TRACE)):
        if schemas.TRACE in written and not {schemas.TERMS} & {*rows} <= {*written}:
            continue  # `trace` waits for `terms`
        found = tables(written)
        last = record(5, rows) if schemas.TRACE in written else record(4, ())
        complete = {*written} == {*rows, schemas.TRACE}
        version = commit.complete_version(found, last)

        assert version == (5 if complete else 4)
        assert commit.incomplete_epoch(found, version) == (5 if written and not complete else None)


def test_a_table_without_an_epoch_that_was_complete_is_refused():
    """A crash loses nothing that an earlier record names."""
    lost = tables((schemas.TRACE,))
    lost[schemas.CHANGES].epoch = 2

    with pytest.raises(StateError, match=r"changes ends with epoch 2.* rows of epoch 4"):
        commit.complete_version(lost, record(5, ()))


def test_an_interrupted_epoch_is_replayed_first():
    """As it was: with the same input and the same program."""
    commit.check_epoch(5, 4, None)
    commit.check_epoch(5, 4, 5)
    with pytest.raises(StateError, match=r"Epoch 5 was interrupted.* before epoch 6"):
        commit.check_epoch(6, 4, 5)

    commit.check_replay(record(5, ()), EpochRecord(5, {}, "abc"))
    with pytest.raises(StateError, match="Epoch 5 was committed with offsets"):
        commit.check_replay(record(5, ()), EpochRecord(5, {"in": {"0": [1, 2]}}, "abc"))
    with pytest.raises(StateError, match=r"with the frontier None, but its replay has 7"):
        commit.check_replay(record(5, ()), EpochRecord(5, {}, "abc", frontier=7))

    commit.check_program(5, "abc", "abc")
    with pytest.raises(StateError, match=r"with program abc, .* an unchanged program"):
        commit.check_program(5, "abc", None)
