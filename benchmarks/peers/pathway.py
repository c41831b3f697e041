"""Pathway, a dataflow engine for streams, from Kafka to Kafka.

Invariant: it runs in a process and an environment of its own, as its requirements clash with ours.

The environment variable `PATHWAY_PYTHON` names that environment's interpreter. Its program gives
things the classes of their types, by a hierarchy that is closed before and does not change; there
are neither transactions nor storage. That is a part of rho-df, so it is a floor and not a rival.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peers import AbsentError

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERPRETER = "PATHWAY_PYTHON"
APP = Path(__file__).resolve().parent / "pathway_app.py"
COMMIT_MILLISECONDS = 10
DEADLINE = 60


def interpreter() -> str:
    """The interpreter that has Pathway.

    Raises:
        AbsentError: The variable is not set, or Pathway cannot be imported there.
    """
    python = os.environ.get(INTERPRETER)
    if not python:
        raise AbsentError(f"peer not run: {INTERPRETER} names no interpreter with Pathway")
    command = [python, "-c", "import pathway"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise AbsentError(f"peer not run: {INTERPRETER} has no Pathway: {reason[0]}")
    return python


@contextmanager
def pipeline(python: str, servers: str, source: str, target: str, schema: Path) -> Iterator[int]:
    """The program in a process, whose id is given; it reads a topic from its beginning."""
    # Without `-P`, this module would be what the program imports by its name.
    command = [
        python,
        "-P",
        str(APP),
        servers,
        source,
        target,
        str(schema),
        str(COMMIT_MILLISECONDS),
    ]
    process = subprocess.Popen(command, start_new_session=True, stdout=sys.stderr)
    try:
        yield process.pid
        if process.poll() is not None:
            raise RuntimeError(f"Pathway ended with {process.returncode}.")
    finally:
        process.terminate()
        process.wait(DEADLINE)
