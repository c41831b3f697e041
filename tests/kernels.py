"""Compile the kernels once for all workers. Invariant: no test compiles many kernels itself.

Workers that compile the same kernels multiply the CPU time. The process that starts the
workers compiles the kernels, while the workers run the tests that need few of them.
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

_ROOT = Path(__file__).parents[1]
_KEY = "kernels"
EARLY = (
    "tests/integration/test_class_archives.py",
    "tests/integration/test_image_executor.py",
)
"""Tests that need few kernels."""
_SHARE = pytest.StashKey[tuple[str, subprocess.Popen]]()


def pytest_configure(config):
    """Start to compile, if there are workers; the compiling process holds the lock."""
    if not getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        return
    descriptor, path = tempfile.mkstemp(prefix="streamreasoner-kernels-")
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    command = [sys.executable, "-m", "streamreasoner", "warm"]
    compiling = subprocess.Popen(command, env=environment, pass_fds=[descriptor])
    os.close(descriptor)
    config.stash[_SHARE] = path, compiling


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Pass the path of the lock to a worker."""
    node.workerinput[_KEY] = node.config.stash[_SHARE][0]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Wait in a worker until the kernels are compiled, unless a test needs few."""
    path = getattr(item.config, "workerinput", {}).get(_KEY)
    if path is not None and _needs_kernels(item):
        with Path(path).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
    return (yield)


def _needs_kernels(item):
    return not item.nodeid.startswith(EARLY)


def pytest_unconfigure(config):
    """End the compiling process, if it still runs, and remove the lock."""
    if _SHARE in config.stash:
        path, compiling = config.stash[_SHARE]
        compiling.kill()
        compiling.wait()
        with suppress(OSError):
            Path(path).unlink()
