"""Peers that are crates of ours: their build and the run of a case. Invariant: a separate process
reads the rows from files and measures its own times; reading is not timed.
"""  # noqa: D205

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers import AbsentError, memory
from benchmarks.peers.case import Result
from benchmarks.peers.clock import Seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from benchmarks.peers.case import Case

FOLDER = Path(__file__).resolve().parent


def build(crate: str, binary: str) -> Path:
    """The path of a crate's program, built in the temporary directory if needed.

    Raises:
        AbsentError: There is no cargo, or the build fails.
    """
    cargo = shutil.which("cargo")
    if cargo is None:
        raise AbsentError("peer not run: no cargo")
    command = [cargo, "build", "--release", "--quiet", "--bin", binary]
    command += ["--target-dir", str(target(crate))]
    done = subprocess.run(command, cwd=FOLDER / crate, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise AbsentError(f"peer not run: cargo does not build {crate}: {reason[-1].strip()}")
    return target(crate) / "release" / binary


def target(crate: str) -> Path:
    """Where a crate is built."""
    return Path(tempfile.gettempdir()) / f"streamreasoner-{crate}"


def run(engine: str, case: Case, command: Callable[[list[str]], Sequence[str]]) -> Result:
    """Load the case's rows, run its updates, and return times and derived facts.

    Args:
        engine: Its name and how it is run.
        case: What is run.
        command: The command line, from the paths of the rows, the single ones and the batch.
    """
    with tempfile.TemporaryDirectory(prefix="streamreasoner-peer-") as folder:
        files = [
            _write(Path(folder) / name, rows)
            for name, rows in (
                ("rows", case.rows),
                ("singles", case.singles),
                ("batch", case.batch),
            )
        ]
        memory.hand_out()
        done = subprocess.run(command(files), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{engine} failed on {case.name}: {done.stderr.strip()}")
    return parse(engine, done.stdout)


def parse(engine: str, line: str) -> Result:
    """The line of JSON that a run tells. A time is a pair of processor and wall, or null."""
    told = json.loads(line)
    load = _seconds(told["load"])
    assert load is not None, line
    return Result(
        engine,
        load,
        told["facts"],
        told["checksums"],
        *(_seconds(told[name]) for name in ("remove", "add", "batch_remove", "batch_add")),
        told["peak_bytes"],
    )


def _seconds(pair: Any) -> Seconds | None:
    return None if pair is None else Seconds(*pair)


def _write(path: Path, rows: NDArray[np.int32]) -> str:
    """Write rows as little-endian int32, without a header."""
    rows.astype("<i4").tofile(path)
    return str(path)
