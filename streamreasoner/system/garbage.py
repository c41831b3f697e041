"""Garbage collection while programs are built. Invariant: its previous state is restored.

The trees of a program hold no reference cycles, but every collection traverses them, which takes
more than half of the time for a text of 250 kB.
"""

from __future__ import annotations

import gc
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def without_collections(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Disable the cyclic collector while a function runs; reference counts still free objects."""

    @wraps(function)
    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            if enabled:
                gc.enable()

    return run
