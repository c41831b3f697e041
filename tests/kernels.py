"""The kernels are compiled once for all workers. Invariant: no test begins before they are.

Two workers that compile the same kernels at once take twice the CPU time. The process that starts
the workers compiles the kernels while the workers collect.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

_PREPARE = Path(__file__).parents[1] / "deploy" / "prepare.py"
_KEY = "kernels"
_SHARE = pytest.StashKey[tuple[str, subprocess.Popen]]()


def pytest_configure(config):
    """Start to compile, if there are workers; the lock is held by the process that compiles."""
    if not getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        return
    descriptor, path = tempfile.mkstemp(prefix="streamreasoner-kernels-")
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    environment = {**os.environ, "PYTHONPATH": str(_PREPARE.parents[1])}
    command = [sys.executable, _PREPARE, "kernels"]
    compiling = subprocess.Popen(command, env=environment, pass_fds=[descriptor])
    os.close(descriptor)
    config.stash[_SHARE] = path, compiling


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Tell a worker where the lock is."""
    node.workerinput[_KEY] = node.config.stash[_SHARE][0]


def pytest_collection_finish(session):
    """A worker waits until the kernels are compiled."""
    given = getattr(session.config, "workerinput", {}).get(_KEY)
    if given is not None:
        with Path(given).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)


def pytest_unconfigure(config):
    """End what is left, and remove the lock."""
    if _SHARE in config.stash:
        path, compiling = config.stash[_SHARE]
        compiling.kill()
        compiling.wait()
        with suppress(OSError):
            Path(path).unlink()
