"""Memory that a process may use, and how full a store is. Invariant: all numbers are bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from streamreasoner.system.groups import MOUNTED, OWN, limits

if TYPE_CHECKING:
    from pathlib import Path

_MEBIBYTE = 1 << 20
_FILES = ("memory.max", "memory.limit_in_bytes")


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
