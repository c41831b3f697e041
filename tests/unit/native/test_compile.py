"""Compiled kernels: cached until a source changes, and run alongside Python."""

from __future__ import annotations

import shutil
import sys
import threading
from importlib import import_module, invalidate_caches
from pathlib import Path

import numpy as np
import pytest

from streamreasoner.native import compile as compiler
from streamreasoner.native.addresses import load_acquired, store_released, yield_processor

SOURCES = {
    "native/__init__.py": "",
    "kernels/constant.py": "ADDED = 1\n",
    "kernels/sums.py": """
from planted.kernels.constant import ADDED
from planted.native.compile import inlined, kernel


@inlined
def twice(number):
    return number + number


@kernel
def compute(number):
    return twice(number) + ADDED
""",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with kernels of its own, compiled by a copy of the module."""
    root = tmp_path / "planted"
    for name, text in SOURCES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    shutil.copy(Path(compiler.__file__), root / "native/compile.py")
    monkeypatch.syspath_prepend(tmp_path)
    # Python knows a changed source by its time in seconds and its length.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield root
    forget()


def forget():
    """Import the package anew next time, as another process does."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "planted"]:
        del sys.modules[name]
    invalidate_caches()


def started():
    """The kernel, whether it is cached, its result for 20, and whether that came from the cache."""
    forget()
    sums, again = import_module("planted.kernels.sums"), import_module("planted.native.compile")
    cached = again.is_cached(sums.compute)
    return cached, sums.compute(20), bool(sums.compute.stats.cache_hits)


def test_a_kernel_is_compiled_again_when_any_source_changes(package):
    """Machine code has constants of other files, which numba itself does not look at."""
    assert started() == (False, 41, False)
    assert started() == (True, 41, True)
    (package / "kernels/constant.py").write_text("ADDED = 2\n", encoding="utf-8")
    assert started() == (False, 42, False)
    (package / "kernels/other.py").write_text("", encoding="utf-8")
    assert started() == (False, 42, False)
    assert started() == (True, 42, True)


@compiler.kernel
def wait(address, most):
    """Announce the start in one word, and wait for another; what it is at last."""
    store_released(address, 1)
    yield_processor()
    for _ in range(most):
        if load_acquired(address + 8) != 0:
            break
    return load_acquired(address + 8)


def test_a_kernel_runs_beside_python():
    """A thread sees a kernel start, and answers it before it ends: nothing is locked."""
    words, found = np.zeros(2, np.int64), []
    wait(words.ctypes.data, 1)  # compiled, or loaded, here
    words[:] = 0
    thread = threading.Thread(target=lambda: found.append(wait(words.ctypes.data, 2_000_000_000)))
    thread.start()
    while words[0] == 0:
        pass
    words[1] = 7
    thread.join()

    assert found == [7]
