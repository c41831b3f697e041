"""The table of ids against a transparent model: a dict of their hashes."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import numpy as np
import psutil
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW, Memory

from streamreasoner.backends.columnar.kernels.records import layout, pending, slots
from streamreasoner.backends.columnar.kernels.records.fact_record import drop, find
from streamreasoner.native import addresses
from streamreasoner.native.reserved import ReservedColumn

BITS = 2
COLLIDING = (0, 1, 2, 3, 1 << 10, 3 | 1 << 9)
"""Hashes of all four buckets. In two pairs only a bit differs that no check has: the tenth."""
SLACK = 32 << 20  # bytes: a stretch, and what else the process does


@given(
    st.lists(st.tuples(st.integers(0, 39), st.sampled_from(COLLIDING), st.booleans()), max_size=150)
)
def test_put_and_remove_agree_with_a_dict(steps):
    """After any puts and removes, lookups find what is there, and nothing is left of the rest."""
    table = ReservedColumn(np.int32, slots.WORDS << BITS)
    hashes = {}
    for number, tag, add in steps:
        identifier = number + 1
        if add and identifier not in hashes:
            slots.put(table.address, BITS, tag, identifier)
            hashes[identifier] = tag
        elif not add and identifier in hashes:
            slots.remove(table.address, BITS, hashes.pop(identifier), identifier)

    assert sorted(_ids(table, BITS)) == sorted(hashes)
    for identifier, tag in hashes.items():
        assert identifier in _found(table, BITS, tag)
    for identifier, tag in hashes.items():
        slots.remove(table.address, BITS, tag, identifier)
    assert not table.array[:: slots.WORDS].any()
    assert not _ids(table, BITS)


def test_more_guests_than_a_bucket_counts():
    """Lookups go on past it for good, and find what follows."""
    bits, last = 13, (1 << 16) + 100
    table = ReservedColumn(np.int32, slots.WORDS << bits)
    for identifier in range(1, last + 1):
        slots.put(table.address, bits, 0, identifier)
    for identifier in range(1, last):
        slots.remove(table.address, bits, 0, identifier)

    assert _ids(table, bits) == [last]
    assert _found(table, bits, 0) == {last}


@FEW
@given(
    st.integers(0, 1 << 32),
    st.lists(st.tuples(st.integers(1, 20_000), st.integers(2, 9)), min_size=2, max_size=4),
)
def test_a_table_that_grows_keeps_its_facts(seed, steps):
    """By one doubling or several, whether checks tell where facts move to or not."""
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

    held = memory.held(layout.FACT_TABLE, layout.FACT_SIZE, layout.FACT_BUFFER)
    found = np.array([find(memory.table, relation, row, 0) for row in kept])
    assert memory.scalars[layout.FACT_COUNT] == len(kept)
    assert sorted(found.tolist()) == sorted(held)
    for position, cells in enumerate(np.array(kept).T):
        assert np.array_equal(memory.words[2 * found + layout.CELLS + position], cells)
    assert not any(find(memory.table, relation, row, 0) for row in [*dropped, *rows[start:]])


def test_rehash_takes_no_more_memory_than_the_larger_table():
    """Neither at its end nor meanwhile: what has been moved is returned."""
    bits = 20
    small, large = (ReservedColumn(np.int32, slots.WORDS << size) for size in (bits, bits + 1))
    for number in range(5 << bits - 1):
        slots.put(small.address, bits, number, number + 1)
    ids = sorted(_ids(small, bits))
    before, peak = psutil.Process().memory_info().rss, _new_peak()
    nothing = np.zeros(layout.ADDRESSES, np.int64)  # no id is hashed again
    slots.rehash(nothing, layout.FACT_TABLE, small.address, bits, large.address, bits + 1)

    growth = large.array.nbytes - small.array.nbytes
    assert psutil.Process().memory_info().rss - before <= growth + SLACK
    assert _peak() - peak <= growth + SLACK
    assert not small.array.any()
    assert sorted(_ids(large, bits + 1)) == ids


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


def _ids(table, bits):
    """The ids of a table; each bucket has as many as it counts, one after the other."""
    words = table.array[: slots.WORDS << bits].reshape(-1, slots.WORDS)
    ids = words[:, slots.FIRST :]
    assert np.array_equal(ids != 0, np.arange(slots.ROOM) < (words[:, :1] & 15))
    return ids[ids != 0].tolist()


def _found(table, bits, tag):
    """The ids that a lookup visits, by the layout."""
    words = table.array[: slots.WORDS << bits].reshape(-1, slots.WORDS)
    checks = words.view(np.uint8)[:, slots.FIRST : slots.WORDS]
    check = (tag >> bits) & (0xFF >> (bits & 3))
    found = set()
    for step in range(1 << bits):
        bucket = (tag + step) % (1 << bits)
        ids = words[bucket, slots.FIRST :]
        found |= set(ids[(checks[bucket] == check) & (ids != 0)].tolist())
        if words[bucket, 0].view(np.uint32) >> 16 == 0:
            break
    return found
