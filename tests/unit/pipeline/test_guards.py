"""The state lock and the watchdog, with real processes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.io.spark.watchdog import EXIT_CODE
from streamreasoner.state.lock import StateLock

ROOT = Path(__file__).resolve().parents[3]


def python(code, **options):
    """A Python process that runs some code."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        **options,
    )


def test_one_holder_at_a_time(tmp_path):
    """A second lock is refused with the holder's process id until the first is closed."""
    first = StateLock(tmp_path / "state")
    with pytest.raises(EnvironmentSetupError, match=rf"in use by process {os.getpid()}"):
        StateLock(tmp_path / "state", timeout=0)
    first.close()
    StateLock(tmp_path / "state", timeout=0).close()


def test_a_killed_holder_leaves_no_lock(tmp_path):
    """SIGKILL releases the directory, but a child that inherited the lock holds it."""
    code = f"""
        import subprocess, sys, time
        from pathlib import Path
        from streamreasoner.state.lock import StateLock
        lock = StateLock(Path({str(tmp_path)!r}))
        child = subprocess.Popen(["sleep", "600"], pass_fds=[lock.descriptor])
        print(child.pid, flush=True)
        time.sleep(600)
    """
    holder = python(code, stdout=subprocess.PIPE)
    child = int(holder.stdout.readline())
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with pytest.raises(EnvironmentSetupError, match="in use"):
        StateLock(tmp_path, timeout=0)
    os.kill(child, 9)
    StateLock(tmp_path, timeout=300).close()


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    """The message names the key."""
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentSetupError, match=r"state\.directory"):
        StateLock(tmp_path / "file" / "state")


def test_a_lock_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    """A full disk at the very start is one message, and the lock is free again."""

    def write(_descriptor, _data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", write)
        with pytest.raises(EnvironmentSetupError, match="lock cannot be written: No space left"):
            StateLock(tmp_path)

    StateLock(tmp_path, timeout=0).close()


STUCK = """
    import ctypes, io, sys, time
    from streamreasoner.io.spark.watchdog import Watchdog
    watchdog = Watchdog(1, grace=1)
    for epoch in range(3):
        with watchdog.guard(epoch):
            pass
    with watchdog.guard(7):
        {wait}
"""


def test_a_stuck_batch_ends_the_process():
    """The message names batch and key, and includes the stacks."""
    process = python(STUCK.format(wait="time.sleep(600)"), stderr=subprocess.PIPE)
    stderr = process.communicate(timeout=300)[1]
    assert process.returncode == EXIT_CODE
    assert "Batch 7 did not finish" in stderr
    assert "pipeline.batch_timeout" in stderr
    assert 'File "<string>", line' in stderr


def test_the_watchdog_needs_no_file_for_standard_error():
    """A notebook replaces sys.stderr; the stacks go to the process's descriptor."""
    wait = "sys.stderr = io.StringIO(); watchdog.guard(8).__enter__(); time.sleep(60)"
    process = python(STUCK.format(wait=wait), stderr=subprocess.PIPE)
    stderr = process.communicate(timeout=300)[1]
    assert process.returncode == EXIT_CODE
    assert "Batch 8 did not finish" in stderr


def test_a_batch_stuck_in_native_code_ends_the_process_too():
    """Code that holds the GIL blocks Python's threads; the exit code is the same."""
    process = python(STUCK.format(wait="ctypes.PyDLL(None).pause()"), stderr=subprocess.PIPE)
    stderr = process.communicate(timeout=300)[1]
    assert process.returncode == EXIT_CODE
    assert "Timeout" in stderr
    assert 'File "<string>", line' in stderr


def test_a_batch_that_finishes_in_time_is_not_interrupted():
    """Neither a finished batch nor a closed watchdog ends the process."""
    code = """
        from streamreasoner.io.spark.watchdog import Watchdog
        watchdog = Watchdog(300)
        with watchdog.guard(1):
            pass
        watchdog.close()
        watchdog.close()
    """
    assert python(code).wait(timeout=300) == 0
