"""Memory that a process may use, and how full a store is. Invariant: all numbers are bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_MEBIBYTE = 1 << 20
_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


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


def physical_memory() -> int:
    """Bytes of memory this process may use: the machine's, or the limit of its cgroup if less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _CGROUP_LIMITS:
        try:
            total = min(total, int(path.read_text()))
        except (OSError, ValueError):
            continue
    return total
