"""Number of processors available to this process. Invariant: it respects affinity and quotas."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from streamreasoner.system.memory import MOUNTED, OWN, limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_CORES = 64
"""The most cores that an epoch may use, and so the most parts that a state is divided among."""
MOST_PARTS = 1024
"""The most processes that a state is divided among."""
_FILES = (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us"))


def processors(mounted: Path = MOUNTED, own: Path = OWN) -> int:
    """The least of the CPU affinity and the quotas of all control groups around it, at least 1.

    Args:
        mounted: Where control groups are mounted, version 1 or 2.
        own: The groups of this process.
    """
    allowed = len(os.sched_getaffinity(0))
    return max(1, int(min([allowed, *_quotas(mounted, own)])))


def _quotas(mounted: Path, own: Path) -> Iterator[float]:
    """Processors' worth of time, of each group that has a limit: not `max`, and not -1."""
    for files in _FILES:
        for texts in limits("cpu", files, mounted, own):
            try:
                quota, period = map(int, " ".join(texts).split())
            except ValueError:
                continue
            if quota > 0:
                yield quota / period
