"""Compile kernels. Invariant: every kernel is cached on disk and runs without the GIL.

A change of any kernel's source invalidates all caches: numba checks only the file that defines a
function, but the machine code also contains functions and constants from other files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
from llvmlite import binding  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable

_Function = TypeVar("_Function", bound="Callable[..., object]")


# Numba links a kernel into others as it was when its machine code was made, and optimizes it again.
# By then LLVM has split the sum of two integers into base and offset. If it took the offset for the
# base, and learns that this is 0, it drops the load, as one from null. So sums stay sums.
binding.set_option("streamreasoner", "-addr-sink-using-gep=0")
_njit: Any = numba.njit  # the type stubs lack `_nrt`
# Kernels allocate no arrays, so they need no reference counting, which would take a sixth of the
# time of a large load.
# Without its own answer a kernel would be inlined if an inlined one is the first to call it.
_OPTIONS = {"cache": True, "nogil": True, "_nrt": False, "forceinline": False}
_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (Path(__file__).parent, *_PACKAGE.glob("**/kernels"))
_SOURCES = [path.stat() for folder in _FOLDERS for path in folder.rglob("*.py")]
_STAMP = max(status.st_mtime for status in _SOURCES), sum(status.st_size for status in _SOURCES)


def kernel(function: _Function) -> _Function:
    """Compile a kernel on its first call; later processes load the machine code from the cache."""
    return _compiled(function)


def is_cached(function: Callable[..., object]) -> bool:
    """Whether the machine code of a kernel is cached on disk, so that its first call is fast."""
    dispatcher: Any = function
    return bool(dispatcher._cache._cache_file._load_index())  # noqa: SLF001 - as above


def inlined(function: _Function) -> _Function:
    """Like `kernel`, but inlined into the kernels that call it; a call from Python would crash."""
    return _compiled(function, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _compiled(function: _Function, **options: bool) -> _Function:
    dispatcher = _njit(**{**_OPTIONS, **options})(function)
    cache = dispatcher._cache  # noqa: SLF001 - numba has no other way, here and below
    cache._cache_file._source_stamp = _STAMP  # noqa: SLF001
    # Otherwise numba first loads its own library, which only compiling needs, and scipy with it.
    cache.load_overload = cache._load_overload  # noqa: SLF001
    return cast("_Function", dispatcher)
