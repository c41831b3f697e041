"""Columns in reserved address space."""

from __future__ import annotations

import gc
import mmap
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import psutil

from streamreasoner.native.reserved import ReservedColumn, reservable
from streamreasoner.system.memory import physical_memory

GIBIBYTE = 1 << 30


def test_reserving_costs_no_memory():
    """A column larger than physical memory is reserved; only touched pages are resident."""
    before = psutil.Process().memory_info().rss
    column = ReservedColumn(np.int64, 2 * physical_memory() // 8)
    column.array[1_000_000] = 7

    assert column.array[1_000_000] == 7
    assert column.array[-1] == 0
    assert column.array.ctypes.data == column.address
    assert psutil.Process().memory_info().rss - before < 64 << 20


def test_pages_that_were_written_are_counted():
    """Of the first items, whose last page counts as a whole."""
    column = ReservedColumn(np.int32, 1 << 20)
    page = mmap.PAGESIZE // 4
    column.array[3] = column.array[5 * page] = column.array[100 * page] = 1

    assert column.resident(1 << 20) == 3 * mmap.PAGESIZE
    assert column.resident(5 * page + 1) == 2 * mmap.PAGESIZE
    assert column.resident(5 * page) == mmap.PAGESIZE
    assert column.resident(0) == 0


def test_clearing_gives_pages_back():
    """A cleared column reads as zero at the same address, and its pages are released."""
    column = ReservedColumn(np.uint8, GIBIBYTE)
    column.array[: 128 << 20] = 1
    full = psutil.Process().memory_info().rss
    column.clear()

    assert full - psutil.Process().memory_info().rss > 100 << 20
    assert not column.array[: 128 << 20].any()


def test_shrinking_keeps_the_beginning():
    """Of a column that is shrunk the first pages stay; the others are zero again and released."""
    column = ReservedColumn(np.uint8, GIBIBYTE, huge_pages=True)
    column.array[: 128 << 20] = 1
    full = psutil.Process().memory_info().rss
    column.shrink(8 << 20)

    assert full - psutil.Process().memory_info().rss > 100 << 20
    assert column.array[: 8 << 20].all()
    assert not column.array[8 << 20 : 128 << 20].any()


def test_a_small_column_has_nothing_to_return():
    """A column of fewer bytes than are kept stays as it is, with huge pages or without."""
    for huge_pages in (False, True):
        column = ReservedColumn(np.uint8, 100, huge_pages=huge_pages)
        column.array[:] = 1
        column.shrink(8 << 20)
        assert column.array.all()


def test_few_items_fill_no_huge_page():
    """The first item of a column costs a small page, wherever huge pages are used."""
    columns = [ReservedColumn(np.int64, GIBIBYTE // 8, huge_pages=True) for _ in range(16)]
    before = psutil.Process().memory_info().rss
    for column in columns:
        column.array[0] = 1

    assert psutil.Process().memory_info().rss - before < 2 << 20


def test_columns_are_freed():
    """An unreferenced column is unmapped; a view keeps the memory alive."""
    column = ReservedColumn(np.int32, 1000)
    column.array[0] = 5
    view = column.array[:1]
    gone = weakref.ref(column)
    del column
    gc.collect()

    assert gone() is None
    assert view[0] == 5


def test_reservable_is_bounded():
    """It is at least a gibibyte of items, and at most the requested bound."""
    assert reservable(8) >= GIBIBYTE // 8
    assert reservable(8, at_most=10) == 10


def test_refused_address_space_is_a_clear_error():
    """Under `ulimit -v` the error says what failed and what to do."""
    code = (
        "import resource, numpy\n"
        "from streamreasoner.errors import EnvironmentSetupError\n"
        "from streamreasoner.native.reserved import ReservedColumn\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        "try:\n"
        "    ReservedColumn(numpy.int64, 1 << 40)\n"
        "except EnvironmentSetupError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )

    assert "refused to reserve 8192.0 GiB of address space" in done.stdout
    assert "ulimit -v" in done.stdout
