"""Memory as a computer that runs for a while has it. Invariant: every engine that is compared loads
right after the same amount of memory was written to and returned.

The host of a virtual machine hands out memory when it is first written to, and takes back what has
been free for some seconds. Then a load of half a second pays up to half a second more of system
time, or nothing, depending on what ran before it. Linux keeps small pages and huge ones in lists of
their own, so both are written to: of 5 MiB in small pages, each page took 50 to 83 microseconds
after huge ones alone, and 2 to 3 after both.
"""  # noqa: D205

from __future__ import annotations

import mmap

import numpy as np

AMOUNT = 1 << 30
"""Bytes: what the largest load of `compare.py` takes, about."""
SMALL_AMOUNT = 1 << 28
"""Bytes in small pages, which small loads take first, and peers without huge pages for all."""


def hand_out() -> None:
    """Have the host hand out memory, which is free again afterwards."""
    touch(AMOUNT)
    touch(SMALL_AMOUNT, mmap.MADV_NOHUGEPAGE)


def touch(size: int, advice: int = mmap.MADV_HUGEPAGE) -> None:
    """Write to every page of as many bytes of fresh memory, private as a state's."""
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(advice)
        np.frombuffer(memory, np.uint8)[:: mmap.PAGESIZE] = 1
