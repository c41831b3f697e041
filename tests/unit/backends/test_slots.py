"""The table of ids against a transparent model: a dict of their hashes."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW, Memory

from streamreasoner.backends.columnar.kernels.epoch.fit import fit
from streamreasoner.backends.columnar.kernels.records import layout, pending, slots
from streamreasoner.backends.columnar.kernels.records.fact_record import drop, find
from streamreasoner.native import addresses
from streamreasoner.native.reserved import ReservedColumn

SIZES = {"full": 4 << slots.SIZE_BITS | 2, "fitted": 3 << slots.SIZE_BITS | 2}
COLLIDING = (0, 1, 2, 3, 1 << 10, 3 | 1 << 9)
"""Hashes of all four buckets. In two pairs only a bit differs that no check has: the tenth."""
SLACK = 32 << 20  # bytes: a stretch, and what else the process does


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 39), st.sampled_from(COLLIDING), st.booleans()), max_size=150
    )
)
def test_put_and_remove_agree_with_a_dict(size, steps):
    """After any puts and removes, lookups find what is there, and nothing is left of the rest."""
    table = ReservedColumn(np.int32, slots.WORDS * (size >> slots.SIZE_BITS))
    hashes = {}
    for number, tag, add in steps:
        identifier = number + 1
        if add and identifier not in hashes:
            slots.put(table.address, size, tag, identifier)
            hashes[identifier] = tag
        elif not add and identifier in hashes:
            slots.remove(table.address, size, hashes.pop(identifier), identifier)

    assert sorted(_ids(table, size)) == sorted(hashes)
    for identifier, tag in hashes.items():
        assert identifier in _found(table, size, tag)
    for identifier, tag in hashes.items():
        slots.remove(table.address, size, tag, identifier)
    assert not table.array[:: slots.WORDS].any()
    assert not _ids(table, size)


def test_more_guests_than_a_bucket_counts():
    """Lookups go on past it for good, and find what follows."""
    size, last = _full(13), (1 << 16) + 100
    table = ReservedColumn(np.int32, slots.WORDS << 13)
    for identifier in range(1, last + 1):
        slots.put(table.address, size, 0, identifier)
    for identifier in range(1, last):
        slots.remove(table.address, size, 0, identifier)

    assert _ids(table, size) == [last]
    assert _found(table, size, 0) == {last}


@FEW
@given(
    st.integers(0, 1 << 32),
    st.lists(st.tuples(st.integers(1, 20_000), st.integers(2, 9)), min_size=2, max_size=4),
    st.booleans(),
)
def test_a_table_that_grows_keeps_its_facts(seed, steps, fits):
    """By one doubling or several, whether checks tell where facts move to or not.

    And if the table is fitted in between, so that many are guests.
    """
    memory = Memory("p(?x) :- e(?x, _) .")
    relation = memory.numbering.relations["e"]
    rows = np.unique(np.random.default_rng(seed).integers(0, 1 << 20, (90_000, 2)), axis=0)
    rows = np.random.default_rng(seed).permutation(rows.astype(np.int32))
    kept, dropped, start = [], [], 0
    for count, share in steps:
        chunk = rows[start : start + count]
        ones = np.ones(len(chunk), np.int64)
        assert pending.add(memory.table, relation, 2, chunk.reshape(-1), ones) == layout.OK
        gone = np.arange(len(chunk)) % share == 0
        for row in chunk[gone]:
            drop(memory.table, find(memory.table, relation, row, 0))
        kept.extend(chunk[~gone])
        dropped.extend(chunk[gone])
        start += count
        if fits:
            _fit(memory)

    held = memory.held(layout.FACT_TABLE, layout.FACT_SIZE, layout.FACT_BUFFER)
    found = np.array([find(memory.table, relation, row, 0) for row in kept])
    assert memory.scalars[layout.FACT_COUNT] == len(kept)
    assert sorted(found.tolist()) == sorted(held)
    for position, cells in enumerate(np.array(kept).T):
        assert np.array_equal(memory.words[2 * found + layout.CELLS + position], cells)
    assert not any(find(memory.table, relation, row, 0) for row in [*dropped, *rows[start:]])
    for row in kept:
        drop(memory.table, find(memory.table, relation, row, 0))
    assert not memory.held(layout.FACT_TABLE, layout.FACT_SIZE, layout.FACT_BUFFER)


def _fit(memory):
    """Fit the table of facts, and check its size and the memory that it has left."""
    before = int(memory.scalars[layout.FACT_SIZE])
    fit(memory.table)
    now = int(memory.scalars[layout.FACT_SIZE])
    count = int(memory.scalars[layout.FACT_COUNT])
    full = 1 << (before & 63)
    least = max(full - full // 8, count // (9 * 64) * 64 + 64)
    if before == _full(before & 63) and full - least >= full // 16:
        assert now == least << slots.SIZE_BITS | (before & 63)
    else:
        assert now == before
    buffer, written = int(memory.scalars[layout.FACT_BUFFER]), slots.WORDS * full
    used, other = (memory.reserved(layout.FACT_TABLE + each) for each in (buffer, 1 - buffer))
    assert not used[slots.WORDS * (now >> slots.SIZE_BITS) : written].any()
    assert not other[:written].any()


def test_a_fitted_table_gives_back_memory():
    """The pages of its last buckets, at once."""
    memory = Memory("p(?x) :- e(?x, _) .")
    rows = np.arange(2_800_000, dtype=np.int32)
    ones = np.ones(len(rows) // 2, np.int64)
    relation = memory.numbering.relations["e"]
    assert pending.add(memory.table, relation, 2, rows, ones) == layout.OK
    before = psutil.Process().memory_info().rss
    size = int(memory.scalars[layout.FACT_SIZE]) >> slots.SIZE_BITS
    fit(memory.table)

    given_back = slots.BYTES * (size - (int(memory.scalars[layout.FACT_SIZE]) >> slots.SIZE_BITS))
    assert given_back == slots.BYTES * size // 8
    assert before - psutil.Process().memory_info().rss > given_back // 2


def test_rehash_takes_no_more_memory_than_the_larger_table():
    """Neither at its end nor meanwhile: what has been moved is returned."""
    bits = 20
    small, large = (ReservedColumn(np.int32, slots.WORDS << size) for size in (bits, bits + 1))
    for number in range(5 << bits - 1):
        slots.put(small.address, _full(bits), number, number + 1)
    ids = sorted(_ids(small, _full(bits)))
    before, peak = psutil.Process().memory_info().rss, _new_peak()
    nothing = np.zeros(layout.ADDRESSES, np.int64)  # no id is hashed again
    slots.rehash(nothing, layout.FACT_TABLE, small.address, _full(bits), large.address, bits + 1)

    growth = large.array.nbytes - small.array.nbytes
    assert psutil.Process().memory_info().rss - before <= growth + SLACK
    assert _peak() - peak <= growth + SLACK
    assert not small.array.any()
    assert sorted(_ids(large, _full(bits + 1))) == ids


def test_locked_pages_are_cleared():
    """What the system cannot take back is 0 as well."""
    column = ReservedColumn(np.int64, mmap.PAGESIZE)
    column.array[:] = 1
    first = ctypes.c_void_p(column.address)
    assert ctypes.CDLL(None).mlock(first, ctypes.c_size_t(mmap.PAGESIZE)) == 0
    addresses.return_pages(column.address, 2 * mmap.PAGESIZE)

    words = 2 * mmap.PAGESIZE // 8
    assert not column.array[:words].any()
    assert column.array[words:].all()


def _new_peak():
    """Begin to measure the peak; returns the bytes that are resident."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak():
    """The most bytes that were resident at a time."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def _full(bits):
    """The size of a table that has not been fitted."""
    return 1 << bits + slots.SIZE_BITS | bits


def _ids(table, size):
    """The ids of a table; each bucket has as many as it counts, one after the other."""
    words = table.array[: slots.WORDS * (size >> slots.SIZE_BITS)].reshape(-1, slots.WORDS)
    ids = words[:, slots.FIRST :]
    assert np.array_equal(ids != 0, np.arange(slots.ROOM) < (words[:, :1] & 15))
    return ids[ids != 0].tolist()


def _found(table, size, tag):
    """The ids that a lookup visits, by the layout."""
    count, bits = size >> slots.SIZE_BITS, size & 63
    words = table.array[: slots.WORDS * count].reshape(-1, slots.WORDS)
    checks = words.view(np.uint8)[:, slots.FIRST : slots.WORDS]
    known = tag & ((0x100 >> (bits & 3) << bits) - 1)
    first = tag % (1 << bits)
    if first >= count:
        first = known * 0x9E3779B1 % (1 << 32) * count >> 32
    found = set()
    for step in range(count):
        bucket = (first + step) % count
        ids = words[bucket, slots.FIRST :]
        found |= set(ids[(checks[bucket] == known >> bits) & (ids != 0)].tolist())
        if words[bucket, 0].view(np.uint32) >> 16 == 0:
            break
    return found
