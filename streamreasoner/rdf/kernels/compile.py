"""How kernels are compiled. Invariant: every kernel is cached on disk and runs without the GIL."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

_Function = TypeVar("_Function", bound="Callable[..., object]")


def kernel(function: _Function) -> _Function:
    """Compile at the first call; later processes load the machine code from the cache."""
    return cast("_Function", numba.njit(cache=True, nogil=True)(function))


def inlined(function: _Function) -> _Function:
    """As `kernel`, for leaves so small that a call would cost more than their work."""
    return cast("_Function", numba.njit(cache=True, nogil=True, forceinline=True)(function))
