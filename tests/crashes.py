"""Run pipelines that crash at a chosen point, and pipelines that finish their input."""

from __future__ import annotations

import signal
from pathlib import Path

from pipelines import DEADLINE_SECONDS, await_published, running, terminate

DRIVER = Path(__file__).parent / "faults" / "driver.py"


def die_at(case, point, epoch):
    """Run a pipeline that kills itself at a point of an epoch, see `faults/driver.py`."""
    with running([DRIVER, case.file, point, epoch], case) as process:
        code = process.wait(DEADLINE_SECONDS)
        assert code == -signal.SIGKILL, (case.directory / "driver.log").read_text()


def run_to_the_end(case, records):
    """Start a pipeline by the command, wait until all input is published, stop it: exit code 0."""
    with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
        await_published(case, records)
        assert terminate(process) == 0
