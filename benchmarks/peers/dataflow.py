"""Differential dataflow, through the crate in `differential/`. Invariant: a separate process reads
the rows from files and measures its own times.
"""  # noqa: D205

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peers import AbsentError
from benchmarks.peers.case import Result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchmarks.peers.case import Case

CRATE = Path(__file__).resolve().parent / "differential"
TARGET = Path(tempfile.gettempdir()) / "streamreasoner-differential"


def build() -> Path:
    """The path of the program, built in `TARGET` if needed.

    Raises:
        AbsentError: There is no cargo, or the build fails.
    """
    cargo = shutil.which("cargo")
    if cargo is None:
        raise AbsentError("peer not run: no cargo")
    command = [cargo, "build", "--release", "--quiet", "--target-dir", str(TARGET)]
    done = subprocess.run(command, cwd=CRATE, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise AbsentError(f"peer not run: cargo does not build it: {reason[-1].strip()}")
    return TARGET / "release" / CRATE.name


def run(case: Case, workers: int = 1) -> Result:
    """Load the case's rows, run its updates, and return times and derived facts.

    Raises:
        AbsentError: The crate cannot be built here, or it lacks the task.
    """
    if not case.task:
        raise AbsentError("peer not run: the crate lacks this task")
    program = build()
    with tempfile.TemporaryDirectory(prefix="streamreasoner-peer-") as folder:
        files = [
            _write(Path(folder) / name, rows)
            for name, rows in (
                ("rows", case.rows),
                ("singles", case.singles),
                ("batch", case.batch),
            )
        ]
        command = [str(program), case.task, str(workers), *files, *map(str, case.parameters)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"differential dataflow failed on {case.name}: {done.stderr.strip()}")
    told = json.loads(done.stdout)
    return Result(
        f"differential dataflow, {workers} worker{'s' * (workers > 1)}",
        told["load_seconds"],
        told["facts"],
        told["checksums"],
        told["remove_seconds"],
        told["add_seconds"],
        told["batch_remove_seconds"],
        told["batch_add_seconds"],
        told["peak_bytes"],
    )


def _write(path: Path, rows: NDArray[np.int32]) -> str:
    """Write rows as little-endian int32, without a header."""
    rows.astype("<i4").tofile(path)
    return str(path)
