"""The open-addressing table against a transparent model: a set of ids."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import numpy as np
import psutil
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.backends.columnar.kernels.records import layout, slots
from streamreasoner.native import addresses
from streamreasoner.native.reserved import ReservedColumn

MASK = 15
SLACK = 32 << 20  # bytes: a stretch, and what else the process does


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=60))
def test_put_and_remove_agree_with_a_set(steps):
    """After any puts and removes, each id is reachable from its home slot without a gap."""
    table = np.zeros(MASK + 1, np.int64)
    present = set()
    for number, add in steps:
        # Few tags, so that most ids collide and wrap around the end of the table.
        identifier, tag = number + 1, 13 + number % 5
        if add and identifier not in present and len(present) < MASK:
            slots.put(table, MASK, tag, identifier)
            present.add(identifier)
        elif not add and identifier in present:
            slots.remove(table, MASK, tag, identifier)
            present.remove(identifier)

        assert sorted(table[table != 0] & layout.LOW) == sorted(present)
        for member in present:
            assert member in _probe(table, 13 + (member - 1) % 5)


@given(st.lists(st.integers(1, 10_000), unique=True, max_size=9))
def test_rehash_moves_every_slot(identifiers):
    """A larger table holds the same slots, each reachable from its home, and this one none."""
    table = np.zeros(MASK + 1, np.int64)
    wide = np.zeros(2 * (MASK + 1), np.int64)
    for identifier in identifiers:
        slots.put(table, MASK, identifier * 7, identifier)
    moved = sorted(table[table != 0])
    slots.rehash(table.ctypes.data, MASK, wide.ctypes.data, 2 * MASK + 1)

    assert sorted(wide[wide != 0]) == moved
    assert not table.any()
    for identifier in identifiers:
        assert identifier in _probe(wide, identifier * 7)


def test_rehash_takes_no_more_memory_than_the_larger_table():
    """Neither at its end nor meanwhile: what has been moved is returned."""
    small, large = (ReservedColumn(np.int64, size) for size in (1 << 23, 1 << 24))
    mask = small.capacity - 1
    for tag in range(0, small.capacity, 5):
        slots.put(small.array, mask, tag, tag + 1)
    moved = small.array[small.array != 0].copy()
    before, peak = psutil.Process().memory_info().rss, _new_peak()
    slots.rehash(small.address, mask, large.address, 2 * mask + 1)

    growth = large.array.nbytes - small.array.nbytes
    assert psutil.Process().memory_info().rss - before <= growth + SLACK
    assert _peak() - peak <= growth + SLACK
    assert not small.array.any()
    assert np.array_equal(np.sort(large.array[large.array != 0]), np.sort(moved))


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


def _probe(table, tag):
    """The ids that a lookup visits before the first empty slot."""
    identifiers = []
    i = tag % len(table)
    while table[i]:
        identifiers.append(table[i] & layout.LOW)
        i = (i + 1) % len(table)
    return identifiers
