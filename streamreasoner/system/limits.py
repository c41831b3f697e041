"""Limits of the system on a process. Invariant: one that is too low is named at the start.

Java and its libraries report such limits as missing files or a broken installation.
"""

from __future__ import annotations

import resource
from typing import Final

from streamreasoner.errors import EnvironmentSetupError

MOST_FILES: Final = 65_536
LEAST_FILES: Final = 512
"""What Spark and the clients of Kafka open, with room."""
_GIBIBYTE: Final = 1 << 30


def check_limits() -> None:
    """Use as many open files as are allowed, and check the limits of a process that runs Java.

    Raises:
        EnvironmentSetupError: A limit is too low.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    if soft != resource.RLIM_INFINITY and soft < LEAST_FILES:
        raise EnvironmentSetupError(
            f"This process may open {soft} files only; Spark needs {LEAST_FILES}. Raise the limit "
            "(`ulimit -n 4096`, LimitNOFILE of systemd)."
        )
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY:
        raise EnvironmentSetupError(
            f"The address space of this process is limited to {space / _GIBIBYTE:.1f} GiB. Java "
            "and tables in memory reserve far more than they use. Lift the limit (`ulimit -v "
            "unlimited`), and limit memory by a control group instead (MemoryMax of systemd, "
            "--memory of Docker)."
        )
