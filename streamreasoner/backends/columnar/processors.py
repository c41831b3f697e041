"""How many processors this process may use. Invariant: a quota counts as well as an affinity."""

from __future__ import annotations

import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def processors(cgroup: Path = _CGROUP) -> int:
    """Processors by affinity, or by the quota of the control group if that is less; 1 at least.

    Args:
        cgroup: Where control groups are mounted, version 1 or 2.
    """
    allowed = len(os.sched_getaffinity(0))
    quota = _quota(cgroup)
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def _quota(cgroup: Path) -> float | None:
    """Processor time per time, None if it is not limited."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            limit, period = " ".join((cgroup / name).read_text() for name in names).split()
            return int(limit) / int(period) if int(limit) > 0 else None
        except (OSError, ValueError):
            # The file is missing, or says `max`.
            continue
    return None
