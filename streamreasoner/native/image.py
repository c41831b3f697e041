"""All kernels as one piece of machine code. Invariant: an image is of the sources that it runs for.

An image is compiled in a process of its own (`linking`), and kept in a file that is named after all
that its code depends on: the sources of the kernels, numba, LLVM, Python, and the processor. It may
come with the package; if it does not, it is compiled once and kept in the cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite  # type: ignore[import-untyped]
import numba
from llvmlite import binding
from numba import config as settings

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.system.jvm import cache_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHIPPED = Path(__file__).parent / "images"
"""Where the package has images that were compiled when it was built."""
# It lists kernels of packages above this one, and so runs in a process of its own only.
_PROGRAM = "streamreasoner.pipeline.warming.build"
_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (Path(__file__).parent, *_PACKAGE.glob("**/kernels"))
_LIST = _PACKAGE / "pipeline" / "warming" / "kernels.py"
config: Any = settings  # its attributes come from the environment
_KEPT = 8  # images of versions that one folder keeps
_REPORT_SECONDS = 10.0
# What compilers call x86-64-v3: every server of the last ten years.
_LEVEL = "x86-64-v3"
_FEATURES = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt")
_MOST_SAID = 2000
_CHECK = hashlib.sha256().digest_size
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Symbols:
    """Where the machine code has a kernel.

    Attributes:
        module: Module of the kernel.
        name: Its name.
        signature: Types of its arguments and of its result.
        wrapper: The function that Python calls.
        environment: The variable that points to what the function knows of Python.
    """

    module: str
    name: str
    signature: Any
    wrapper: str
    environment: str


@dataclass(frozen=True, slots=True)
class Image:
    """Kernels that are compiled.

    Attributes:
        code: An object file.
        kernels: What Python may call.
    """

    code: bytes
    kernels: tuple[Symbols, ...]


def processor() -> tuple[str, str]:
    """Name and features of the processor that kernels are compiled for, as numba sets them.

    One image runs on all processors of the level, so it may be compiled elsewhere.
    """
    if config.CPU_NAME is not None:
        return config.CPU_NAME, config.CPU_FEATURES or ""
    features = binding.get_host_cpu_features()
    if all(features.get(feature, False) for feature in _FEATURES):
        return _LEVEL, ""
    return binding.get_host_cpu_name(), features.flatten()


@cache
def file_name() -> str:
    """The name of the file of the image."""
    digest = hashlib.sha256()
    words = (
        *(numba.__version__, llvmlite.__version__, sys.implementation.cache_tag),
        *(binding.get_process_triple(), *processor(), str(config.OPT), str(config.BOUNDSCHECK)),
    )
    for word in words:
        digest.update(f"{word}\n".encode())
    sources = {_LIST, *(path for folder in _FOLDERS for path in folder.rglob("*.py"))}
    for path in sorted(sources):
        digest.update(f"{path.relative_to(_PACKAGE)}\n".encode())
        digest.update(path.read_bytes())
    return f"kernels-{digest.hexdigest()[:24]}.image"


def find() -> Path | None:
    """The file of the image, if there is one."""
    for folder in (SHIPPED, *_folders()):
        path = folder / file_name()
        if path.is_file():
            return path
    return None


def _folders() -> Iterator[Path]:
    """Where an image may be kept, best first."""
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
    yield Path(__file__).parent / "__pycache__"
    with suppress(EnvironmentSetupError):
        yield cache_directory()


def _writable() -> Path:
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
    raise EnvironmentSetupError(
        "No folder can be written for the compiled kernels; set NUMBA_CACHE_DIR to one."
    )


def ensure(report: Callable[[int, int], None] = lambda _done, _all: None) -> Path:
    """The file of the image, compiled if there is none; other processes wait for it.

    Args:
        report: Called with the number of steps that are done, and of all.
    """
    found = find()
    if found is not None:
        return found
    folder = _writable()
    with _locked(folder / "kernels.lock"):
        return find() or _compile(folder / file_name(), report)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile(path: Path, report: Callable[[int, int], None]) -> Path:
    """Compile in another process, whose memory is returned, and which can use all of numba."""
    _log.warning(
        "Compiling the kernels, once per machine and version, for one to two minutes. Later starts"
        " load them from %s.",
        path,
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(
            [sys.executable, "-m", _PROGRAM, str(path.parent)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process:
            said = time.monotonic()
            for line in process.stdout or ():
                done, total = map(int, line.split())
                report(done, total)
                if time.monotonic() - said > _REPORT_SECONDS:
                    said = time.monotonic()
                    _log.info("Compiling the kernels: %d %% done.", 100 * done // total)
        errors.seek(0)
        reason = errors.read().strip()[-_MOST_SAID:] or "nothing"
    if process.returncode or not path.is_file():
        raise EnvironmentSetupError(
            f"The kernels could not be compiled: the process that compiles them ended with code"
            f" {process.returncode}. It said: {reason}"
        )
    return path


def load(path: Path) -> Image:
    """Read an image from a file.

    Raises:
        EnvironmentSetupError: The file is damaged.
    """
    content = path.read_bytes()
    if hashlib.sha256(content[_CHECK:]).digest() != content[:_CHECK]:
        raise EnvironmentSetupError(
            f"{path} is damaged. Delete it: the kernels are then compiled again."
        )
    image: Image = pickle.loads(content[_CHECK:])  # noqa: S301 - it is what `save` wrote
    return image


def save(image: Image, path: Path) -> None:
    """Write an image to a file, which is there when it is complete; old ones are removed."""
    content = pickle.dumps(image)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        part.write_bytes(hashlib.sha256(content).digest() + content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    images = sorted(path.parent.glob("kernels-*.image"), key=lambda each: each.stat().st_mtime)
    for old in images[:-_KEPT]:
        old.unlink(missing_ok=True)
