"""A process that commits epochs to tables: `storage_writer.py STATE [EPOCHS]`.

It prints each epoch once the tables have it. Without EPOCHS it goes on until it is killed.
"""

from __future__ import annotations

import itertools
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
from storage_builders import APP, open_tables, restored, terms

from streamreasoner.engine.updates import TraceRows
from streamreasoner.errors import StateError
from streamreasoner.program.text import ProgramText
from streamreasoner.state.record import EpochRecord

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, __file__]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
PROGRAM = ProgramText("program-hash", "p(?x) :- q(?x) .", ("p/1", "q/1"))


def rows(predicate, iteration, *args):
    """One row of the trace."""
    return TraceRows(predicate, np.array([args]), np.array([iteration]), np.array([1]))


def write(directory, epochs):
    """Commit epochs after those that the tables have."""
    with open_tables(directory, app=APP, program=PROGRAM, trace_epochs=5) as tables:
        first = 0 if tables.version() is None else tables.version() + 1
        numbers = itertools.count(first) if epochs is None else range(first, first + epochs)
        for epoch in numbers:
            term = pa.array([f"<http://example.org/t{epoch}>"], pa.large_string())
            known = tables.terms_stored
            tables.commit(
                EpochRecord(epoch, {"input": {"0": [epoch, epoch + 1]}}, PROGRAM.hash),
                (known, term[known - epoch :]),
                [rows("p", 0, epoch), rows("q", 1, epoch, epoch)],
                [(datetime.now(UTC), [("p", [term], np.array([1], np.int8))])],
            )
            print(epoch, flush=True)  # noqa: T201
            tables.maintain_if_due()


def check_state(directory, acknowledged):
    """The tables have every acknowledged epoch once, and at most one more; returns the last."""
    with open_tables(directory, program=PROGRAM) as tables:
        version = -1 if tables.version() is None else tables.version()
        assert version in {acknowledged, acknowledged + 1}
        trace, dictionary = restored(tables, version + 1)
        assert dictionary.terms(0, version + 1) == terms(*(f"t{n}" for n in range(version + 1)))
        assert trace == (
            {
                "p": {((n,), 0): 1 for n in range(version + 1)},
                "q": {((n, n), 1): 1 for n in range(version + 1)},
            }
            if version >= 0
            else {}
        )
    return version


def main():
    """Write; a refusal is one line, like that of the command line."""
    try:
        write(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
    except StateError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
