"""The tables under SIGKILL: a writer is killed and restarted repeatedly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from deltalake import DeltaTable
from storage_builders import open_tables, restored, terms

ROOT = Path(__file__).parents[2]

WRITER = """
import sys
from datetime import UTC, datetime
import numpy as np
import pyarrow as pa
from streamreasoner.program.text import ProgramText
from streamreasoner.engine.updates import TraceRows
from streamreasoner.state import Tables
from streamreasoner.state.delta.retention import Retention
from streamreasoner.state.record import EpochRecord

def rows(predicate, iteration, *args):
    return TraceRows(predicate, np.array([args]), np.array([iteration]), np.array([1]))

program = ProgramText("program-hash", "p(?x) :- q(?x) .", ("p/1", "q/1"))
retention = Retention(trace_epochs=5)
with Tables.open(sys.argv[1], "test-application", program, 3, retention=retention) as tables:
    epoch = -1 if tables.version() is None else tables.version()
    while True:
        epoch += 1
        term = pa.array([f"<http://example.org/t{epoch}>"], pa.large_string())
        known = tables.terms_stored
        tables.commit(
            EpochRecord(epoch, {"input": {"0": [epoch, epoch + 1]}}, program.hash),
            datetime.now(UTC), (known, term[known - epoch:]),
            [rows("p", 0, epoch), rows("q", 1, epoch, epoch)],
            [("p", [term], np.array([1], np.int8))],
        )
        print(epoch, flush=True)
        tables.maintain_if_due()
"""


def test_no_epoch_is_lost_or_doubled_by_kills(tmp_path):
    """After every SIGKILL, at any point, the tables have all acknowledged epochs exactly once."""
    acknowledged = -1
    for kill in range(6):
        acknowledged = max(acknowledged, _run_and_kill(tmp_path, epochs=3 + 13 * kill))
        with open_tables(tmp_path) as tables:
            version = tables.version()
            assert version in {acknowledged, acknowledged + 1}
            trace, dictionary = restored(tables, version + 1)
            assert dictionary.terms(0, version + 1) == terms(*(f"t{n}" for n in range(version + 1)))
            assert trace == {
                "p": {((n,), 0): 1 for n in range(version + 1)},
                "q": {((n, n), 1): 1 for n in range(version + 1)},
            }
        acknowledged = version

    changed = DeltaTable(tmp_path / "changes").to_pyarrow_table().column("epoch").to_pylist()
    assert sorted(epoch for epoch in changed if epoch <= version) == list(range(version + 1))


def _run_and_kill(state, epochs):
    """Let a writer commit `epochs` epochs, kill it during the next; the last it acknowledged."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(state)], stdout=subprocess.PIPE, env=environment
    ) as writer:
        last = -1
        for _ in range(epochs):
            last = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        words = writer.stdout.read().split()
    return int(words[-1]) if words else last
