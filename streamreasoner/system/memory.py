"""Memory: what a process may use, what it keeps, and how full a store is, all in bytes.

Invariant: no result depends on what is kept.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOUNTED = Path("/sys/fs/cgroup")
"""Where control groups are mounted, version 1 or 2."""
OWN = Path("/proc/self/cgroup")
"""The groups of this process: `number:controllers:path`, without controllers in version 2."""
_MEBIBYTE = 1 << 20
_FILES = ("memory.max", "memory.limit_in_bytes")
# From glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_KEPT_BYTES = 256 << 20  # at the end of the heap; more is returned
_MAPPED_BYTES = 1 << 30  # allocations from this size on are returned when they are freed


@dataclass(frozen=True, slots=True)
class Fill:
    """How full a store is, in bytes.

    Attributes:
        used: Bytes in use.
        limit: Maximum number of bytes; 0 means no limit.
    """

    used: int
    limit: int

    @property
    def ratio(self) -> float:
        """The fraction in use, from 0 to 1."""
        return self.used / self.limit if self.limit else 0.0

    def __str__(self) -> str:
        return f"{self.used / _MEBIBYTE:,.1f} of {self.limit / _MEBIBYTE:,.1f} MiB"


def fullest(*fills: Fill) -> Fill:
    """The fullest of several stores."""
    return max(fills, key=lambda fill: fill.ratio)


@cache
def physical_memory(mounted: Path = MOUNTED, own: Path = OWN) -> int:
    """Bytes of memory this process may use: the machine's, or less if a control group limits it.

    They are looked up once: each state asks for them many times.

    Args:
        mounted: Where control groups are mounted, version 1 or 2.
        own: The groups of this process.
    """
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for name in _FILES:
        for (text,) in limits("memory", (name,), mounted, own):
            # `max` is no limit.
            total = min(total, int(text) if text.strip().isdigit() else total)
    return total


def keep_freed_memory() -> None:
    """Keep freed memory for later allocations; call it before pyarrow is imported.

    The columns of a batch are tens of megabytes, which allocators return to the system when they
    are freed, and the system clears each page that it gives out again. That can take a third of a
    pipeline's time in Python.

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


def limits(
    controller: str, files: tuple[str, ...], mounted: Path = MOUNTED, own: Path = OWN
) -> Iterator[list[str]]:
    """Contents of the files that limit this process: those of its group and of all around it.

    Args:
        controller: The controller, which version 1 has a folder for.
        files: Their names, all in one group; groups that lack one are left out.
        mounted: Where control groups are mounted.
        own: The groups of the process.
    """
    for folder in _folders(controller, mounted, own):
        try:
            yield [(folder / name).read_text() for name in files]
        except OSError:
            continue


def _folders(controller: str, mounted: Path, own: Path) -> Iterator[Path]:
    """Folders of groups; a container sees its own group as the outermost one."""
    roots = {"": mounted, controller: mounted / controller}
    yield from roots.values()
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in {"", controller}.intersection(controllers.split(",")):
            inner = Path(path.lstrip("/"))
            yield from (roots[name] / each for each in (inner, *inner.parents) if each.name)
