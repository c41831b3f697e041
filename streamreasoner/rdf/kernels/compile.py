"""How kernels are compiled. Invariant: every kernel is cached on disk and runs without the GIL.

The cache is as old as the newest kernel: numba looks at the file that a function is in, but its
machine code holds that of the functions it calls, and constants, from other files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

_Function = TypeVar("_Function", bound="Callable[..., object]")


_njit: Any = numba.njit  # its stubs do not know `_nrt`
# Kernels make no arrays, so nothing in them needs numba's reference counts, which cost a sixth of
# the time of a large load.
_OPTIONS = {"cache": True, "nogil": True, "_nrt": False}
_PACKAGE = Path(__file__).parents[2]
_SOURCES = [
    path.stat()
    for folder in (_PACKAGE / "rdf" / "kernels", _PACKAGE / "backends" / "columnar")
    for path in folder.glob("*.py")
]
_STAMP = max(found.st_mtime for found in _SOURCES), sum(found.st_size for found in _SOURCES)


def kernel(function: _Function) -> _Function:
    """Compile at the first call; later processes load the machine code from the cache."""
    return _compiled(function)


def is_cached(function: Callable[..., object]) -> bool:
    """Whether the machine code of a kernel is on the disk, so that its first call is a fast one."""
    dispatcher: Any = function
    return bool(dispatcher._cache._cache_file._load_index())  # noqa: SLF001 - as above


def inlined(function: _Function) -> _Function:
    """As `kernel`, for what kernels call in their loops; a call from Python would crash."""
    return _compiled(function, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _compiled(function: _Function, **options: bool) -> _Function:
    dispatcher = _njit(**_OPTIONS, **options)(function)
    dispatcher._cache._cache_file._source_stamp = _STAMP  # noqa: SLF001 - numba has no other way
    return cast("_Function", dispatcher)
