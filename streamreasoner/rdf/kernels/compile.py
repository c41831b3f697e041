"""How kernels are compiled. Invariant: every kernel is cached on disk and runs without the GIL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

_Function = TypeVar("_Function", bound="Callable[..., object]")


_njit: Any = numba.njit  # its stubs do not know `_nrt`
# Kernels make no arrays, so nothing in them needs numba's reference counts, which cost a sixth of
# the time of a large load.
_OPTIONS = {"cache": True, "nogil": True, "_nrt": False}


def kernel(function: _Function) -> _Function:
    """Compile at the first call; later processes load the machine code from the cache."""
    return cast("_Function", _njit(**_OPTIONS)(function))


def inlined(function: _Function) -> _Function:
    """As `kernel`, for leaves so small that a call would cost more than their work."""
    return cast("_Function", _njit(**_OPTIONS, forceinline=True)(function))
