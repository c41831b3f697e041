"""Columns in reserved address space. Invariant: a column never moves; unwritten items are 0.

A column reserves address space once, as much as fits into physical memory, and the operating system
commits a page when it is first touched. Growing copies nothing, and compiled code may keep raw
addresses.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.system.memory import physical_memory

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

_MAP_NORESERVE = 0x4000
_GIBIBYTE = 1 << 30
_mincore = ctypes.CDLL(None).mincore
_mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
HUGE_PAGE = 2 << 20
"""Bytes of a huge page."""


def reservable(itemsize: int, *, at_most: int = 1 << 40) -> int:
    """Number of items of `itemsize` bytes that fit into physical memory, taken as at least 1 GiB.

    Args:
        itemsize: Bytes per item.
        at_most: Upper bound on the result, for columns indexed by 31-bit ids.
    """
    return min(at_most, max(physical_memory(), _GIBIBYTE) // itemsize)


class ReservedColumn:
    """A column of `capacity` items of one dtype, zero until written, never moved.

    Args:
        dtype: Type of the items.
        capacity: Number of items; costs address space, not memory.
        huge_pages: Whether to use huge pages beyond the first 2 MiB, for well-filled columns.

    Raises:
        EnvironmentSetupError: The operating system refuses the address space.
    """

    __slots__ = ("__weakref__", "_mapping", "address", "array", "capacity", "dtype")

    def __init__(self, dtype: DTypeLike, capacity: int, *, huge_pages: bool = False) -> None:
        self.dtype = np.dtype(dtype)
        self.capacity = capacity
        size = max(capacity * self.dtype.itemsize, mmap.PAGESIZE)
        try:
            self._mapping = mmap.mmap(
                -1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
            )
        except (OSError, OverflowError, ValueError) as error:
            raise EnvironmentSetupError(
                f"The operating system refused to reserve {size / _GIBIBYTE:.1f} GiB of address"
                f" space ({error}); lift the limit (`ulimit -v unlimited`) and allow overcommit"
                " (`vm.overcommit_memory` 0 or 1)."
            ) from None
        if huge_pages:
            # A small state would otherwise fill no huge page of the dozen that it touches.
            self._advise(mmap.MADV_HUGEPAGE, HUGE_PAGE)
        self.array: NDArray[Any] = np.frombuffer(self._mapping, dtype=self.dtype, count=capacity)
        self.address: int = self.array.ctypes.data

    def resident(self, items: int) -> int:
        """Bytes of the pages of the first *items* items that have been written, or read."""
        pages = -(-items * self.dtype.itemsize // mmap.PAGESIZE)
        found = np.zeros(pages, np.uint8)
        _mincore(self.address, mmap.PAGESIZE * pages, found.ctypes.data)
        return mmap.PAGESIZE * int(np.count_nonzero(found & 1))

    def clear(self) -> None:
        """Return all pages to the operating system; all items are zero again."""
        self._advise(mmap.MADV_DONTNEED, 0)

    def shrink(self, kept: int) -> None:
        """Return the pages beyond the first *kept* bytes; the items there are zero again."""
        self._advise(mmap.MADV_DONTNEED, kept)

    def _advise(self, advice: int, start: int) -> None:
        """Give advice on all pages from an offset on, which is a multiple of their size."""
        if start < len(self._mapping):
            self._mapping.madvise(advice, start)
