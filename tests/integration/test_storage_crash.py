"""The tables under SIGKILL: a writer is killed and restarted repeatedly."""

from __future__ import annotations

import os
import signal
import subprocess

from deltalake import DeltaTable
from storage_writer import COMMAND, ENVIRONMENT, check_state
from thorough import THOROUGH

KILLS = 300 if THOROUGH else 6


def test_no_epoch_is_lost_or_doubled_by_kills(tmp_path):
    """After every SIGKILL, at any point, the tables have all acknowledged epochs exactly once."""
    acknowledged = -1
    for kill in range(KILLS):
        acknowledged = max(acknowledged, _run_and_kill(tmp_path, epochs=3 + 13 * (kill % 6)))
        version = check_state(tmp_path, acknowledged)
        acknowledged = version

    changed = DeltaTable(tmp_path / "changes").to_pyarrow_table().column("epoch").to_pylist()
    assert sorted(epoch for epoch in changed if epoch <= version) == list(range(version + 1))


def _run_and_kill(state, epochs):
    """Let a writer commit `epochs` epochs, kill it during the next; the last it acknowledged."""
    command = [*COMMAND, state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT) as writer:
        last = -1
        for _ in range(epochs):
            last = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        words = writer.stdout.read().split()
    return int(words[-1]) if words else last
