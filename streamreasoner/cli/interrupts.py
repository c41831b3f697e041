"""Stopping a long-running command. Invariant: SIGTERM acts like Ctrl-C, and both clean up."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM too, so that servers stop either way.

    A shell starts background commands with SIGINT ignored; this handles it again.
    """
    signals = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.signal(number, signal.default_int_handler) for number in signals}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
