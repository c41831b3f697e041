"""The allocator of a process. Invariant: no result depends on it.

The columns of a batch are tens of megabytes, which allocators return to the system when they are
freed, and the system clears each page that it gives out again. That can take a third of a
pipeline's time in Python, so freed memory is kept for the next batch instead.
"""

from __future__ import annotations

import ctypes
import os

# From glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_KEPT_BYTES = 256 << 20  # at the end of the heap; more is returned
_MAPPED_BYTES = 1 << 30  # allocations from this size on are returned when they are freed


def keep_freed_memory() -> None:
    """Keep freed memory for later allocations; call it before pyarrow is imported.

    Arrow then allocates as the rest of the process does, unless the environment says otherwise.
    Without glibc, nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # A thread's own arena holds no allocation of more than 64 MB: those would be mapped each time.
    mallopt(_M_ARENA_MAX, 1)
    mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
    mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def return_freed_memory() -> None:
    """Return freed memory to the system, that of Arrow too; without glibc, Arrow's only."""
    import pyarrow as pa  # noqa: PLC0415 - its allocator is chosen before it is imported

    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
