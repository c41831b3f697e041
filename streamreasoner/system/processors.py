"""Number of processors available to this process. Invariant: it respects affinity and quota."""

from __future__ import annotations

import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def processors(cgroup: Path = _CGROUP) -> int:
    """The lesser of the CPU affinity and the control group's quota, at least 1.

    Args:
        cgroup: Mount point of control groups, version 1 or 2.
    """
    allowed = len(os.sched_getaffinity(0))
    quota = _quota(cgroup)
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def _quota(cgroup: Path) -> float | None:
    """Processors' worth of time, None if unlimited."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            limit, period = " ".join((cgroup / name).read_text() for name in names).split()
            return int(limit) / int(period) if int(limit) > 0 else None
        except (OSError, ValueError):
            # The file is missing or contains `max`.
            continue
    return None
