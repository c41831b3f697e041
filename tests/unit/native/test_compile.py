"""Compiled kernels: those of the image, others, and how they run alongside Python."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from streamreasoner.native import compile as compiler
from streamreasoner.native.addresses import load_acquired, store_released, yield_processor

PLANTED = """
from streamreasoner.native.compile import inlined, kernel


@inlined
def twice(number):
    return number + number


@kernel
def halves(number):
    return number // 2 if number > 0 else -halves(-number)


@kernel
def compute(numbers):
    return halves(twice(numbers[0])) + 1
"""
BUILD = """
import sys
from pathlib import Path
import numpy as np
import planted
from streamreasoner.native.image import save
from streamreasoner.native.linking import compile_image

kernels = (planted.compute, (np.empty(0, np.int32),)), (planted.halves, (0,))
told = []
save(compile_image(kernels, lambda *steps: told.append(steps)), Path(sys.argv[1]))
print(told == [(done, told[0][1]) for done in range(3)], told[0][1] > 3)
"""
CALL = """
import sys
from pathlib import Path
import numpy as np
from streamreasoner.native import image
image.ensure = lambda: Path(sys.argv[1])
import planted

print(planted.compute(np.array([20], np.int32)), planted.halves(-9))
print(planted.compute(np.array([20], np.int64)), planted.compute(np.array([-20], np.int64)))
print([hasattr(each, "library") for each in planted.compute.overloads.values()])
print(planted.twice.inside.overloads.keys() == planted.twice.overloads.keys())
"""


def run(program, folder):
    """What a program prints that can import the planted kernels."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", program, folder / "planted.image"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def planted(tmp_path):
    """A folder with kernels, and their image."""
    (tmp_path / "planted.py").write_text(PLANTED, encoding="utf-8")
    assert run(BUILD, tmp_path) == ["True True"]
    return tmp_path


def test_a_kernel_is_the_same_from_the_image_and_compiled(planted):
    """The image has the types that it was made for; with others a kernel is compiled."""
    results, others, compiled, _ = run(CALL, planted)
    assert (results, others) == ("21 -4", "21 -19")
    assert compiled == "[False, True]"


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


def test_threads_that_call_a_kernel_first_load_it_once(monkeypatch):
    """Loaded twice, it would be ambiguous, and so looked up by types in each call."""
    ready = threading.Barrier(2, timeout=60)

    @compiler.kernel
    def add_one(number):
        return number + 1

    class Slow:
        """An image that has no kernel, and takes long to say so."""

        @staticmethod
        def kernel(*_):
            """The kernel for some types."""
            with contextlib.suppress(threading.BrokenBarrierError):
                ready.wait(1)

    monkeypatch.setattr(compiler, "_image", Slow)
    threads = [threading.Thread(target=add_one, args=(1,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.setattr(add_one, "_compile_for_args", None)  # what a call without a match needs

    assert add_one(1) == 2
