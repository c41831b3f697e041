"""Stopping a command that is not a service. Invariant: an interrupt unwinds it, and is not lost."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_AGAIN_SECONDS: Final = 0.05


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM too, so that commands clean up either way.

    A shell starts background commands with SIGINT ignored; this handles it again.
    """
    signals = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.signal(number, signal.default_int_handler) for number in signals}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def interrupts_return() -> Iterator[None]:
    """Raise an interrupt again that Python has dropped, as it does in destructors and callbacks."""
    before, interrupted = sys.unraisablehook, threading.main_thread().ident

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is not KeyboardInterrupt or interrupted is None:
            before(unraisable)
            return
        again = threading.Timer(_AGAIN_SECONDS, signal.pthread_kill, (interrupted, signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
