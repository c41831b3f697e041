"""Memory while large values are built. Invariant: Python collects garbage afterwards as before.

Trees of a program hold no circles, but each collection would walk all of them: of a text of 250 kB
that is more than half of the time.
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
    """Let no garbage be collected while a function runs; what holds no circle is freed anyway."""

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
