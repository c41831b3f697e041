"""Compile kernels. Invariant: every kernel runs without the GIL, from the image if that has it.

A kernel has two sides. Python calls the outside, whose machine code is in the image. Other kernels
are compiled with the inside: so they can be linked, and inlined, into whatever calls them.
"""

# mypy: disable-error-code="no-untyped-call,misc,attr-defined,arg-type"
# ruff: noqa: SLF001  (numba has no types, and no other way)

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache, cached_property
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from llvmlite import binding  # type: ignore[import-untyped]
from numba import _dynfunc, types
from numba.core import sigutils
from numba.core.registry import CPUDispatcher, cpu_target

from streamreasoner.native import image

if TYPE_CHECKING:
    from collections.abc import Callable

_Function = TypeVar("_Function", bound="Callable[..., object]")

# A kernel that is not in the image is linked into others as it was when its machine code was made,
# and optimized again. By then LLVM has split the sum of two integers into base and offset. If it
# took the offset for the base, and learns that this is 0, it drops the load. So sums stay sums.
binding.set_option("streamreasoner", "-addr-sink-using-gep=0")
# Kernels allocate no arrays, so they need no reference counting, which would take a sixth of the
# time of a large load.
# Without its own answer a kernel would be inlined if an inlined one is the first to call it.
_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "_nrt": False,
    "boundscheck": None,
    "forceinline": False,
    "no_cfunc_wrapper": True,
}
_LOWERED = {"no_cpython_wrapper": True}
_WORD = 64
_loading = Lock()
_adding = RLock()


def kernel(function: _Function) -> _Function:
    """Compile a kernel; what the image has of it is loaded on the first call."""
    return cast("_Function", _Kernel(function, targetoptions=_OPTIONS))


def inlined(function: _Function) -> _Function:
    """Like `kernel`, but inlined into the kernels that call it; a call from Python would crash."""
    options = {**_OPTIONS, **_LOWERED, "forceinline": True}
    return cast("_Function", _Kernel(function, targetoptions=options))


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A kernel of the image, as numba sees what it compiled."""

    signature: Any
    entry_point: Any
    objectmode: bool = False


class Inside(CPUDispatcher):
    """What other kernels are compiled with."""

    only_lowered = False
    """Whether this process makes the image, and so neither calls nor caches a kernel."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Take narrow signed integers as int64, as arithmetic does: a variant less to compile."""
        wide = tuple(
            types.int64 if isinstance(each, types.Integer) and _is_narrow(each) else each
            for each in args
        )
        return super().get_call_template(wide, kws)


class _Kernel(CPUDispatcher):
    """What Python calls."""

    @cached_property
    def inside(self) -> Inside:
        """What other kernels are compiled with; numba caches it until any source changes."""
        if Inside.only_lowered:
            return Inside(self.py_func, targetoptions={**self.targetoptions, **_LOWERED})
        inside = Inside(self.py_func, targetoptions=self.targetoptions)
        inside.enable_caching()
        inside._cache._cache_file._source_stamp = image.file_name()
        return inside

    @property
    def _numba_type_(self) -> Any:
        return self.inside._numba_type_

    def compile(self, sig: Any) -> Any:
        """Load the kernel from the image; compile it if it is called with other types."""
        arguments, _ = sigutils.normalize_signature(sig)
        # Added twice, by two threads, it would be ambiguous, and so looked up here in each call.
        with _adding:
            if arguments not in self.overloads:
                loaded = _image().kernel(self.py_func, tuple(arguments))
                if loaded is None:
                    self.inside.compile(arguments)
                    loaded = self.inside.overloads[arguments]
                self.add_overload(loaded)
            return self.overloads[arguments].entry_point


def _is_narrow(integer: Any) -> bool:
    return bool(integer.signed and integer.bitwidth < _WORD)


class _LoadedImage:
    """The image in this process."""

    def __init__(self) -> None:
        loaded = image.load(image.ensure())
        self._symbols = {
            (each.module, each.name, tuple(each.signature.args)): each for each in loaded.kernels
        }
        self._codegen = cpu_target.target_context.codegen()
        self._engine: Any = self._codegen._engine._ee
        self._engine.add_object_file(binding.ObjectFileRef.from_data(loaded.code))
        self._engine.finalize_object()

    def kernel(self, function: Any, arguments: tuple[Any, ...]) -> _Loaded | None:
        """The kernel that a function is compiled to; None if the image has none for the types."""
        symbols = self._symbols.get((function.__module__, function.__name__, arguments))
        if symbols is None:
            return None
        module = sys.modules[function.__module__]
        environment = _dynfunc.Environment(vars(module))
        self._codegen.set_env(symbols.environment, environment)
        address = self._engine.get_function_address(symbols.wrapper)
        return _Loaded(
            symbols.signature,
            _dynfunc.make_function(
                module, function.__name__, function.__doc__ or "", address, environment, self
            ),
        )


@cache
def _load() -> _LoadedImage:
    return _LoadedImage()


def _image() -> _LoadedImage:
    """The image, loaded once in a process."""
    with _loading:
        return _load()
