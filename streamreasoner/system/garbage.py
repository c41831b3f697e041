"""When the cyclic garbage collector runs, and over what. Invariant: its state is restored."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def without_collections(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Disable the collector while a function runs; reference counts still free objects.

    The trees of a program hold no reference cycles, but every collection traverses them, which
    takes more than half of the time for a text of 250 kB.
    """

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


@contextmanager
def loaded_objects_are_kept() -> Iterator[None]:
    """Exempt the objects that exist now from collections.

    A full collection over the modules and the program of a pipeline takes 0.3 seconds, which a
    batch would wait for.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        # Otherwise their destructors do not run at exit, and some libraries complain about it.
        gc.unfreeze()
