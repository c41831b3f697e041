"""A request to end this process. Invariant: it is never lost, and no code is interrupted for it.

An exception that a signal handler raises is dropped where Python cannot propagate it, such as in a
destructor or a callback of a C library. The handlers here do nothing; a thread reads the signals
from a pipe, also while the main thread is inside a library.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from concurrent.futures import wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    T = TypeVar("T")

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
GRACE_SECONDS: Final = 5.0
"""How long a start may go on, inside of a library, before the process ends without it."""
_POLL_SECONDS: Final = 0.05
_END: Final = b"\0"
_logger = logging.getLogger(__name__)


class StopRequestedError(Exception):
    """Ends a start; nothing is in flight then."""


class Stop:
    """Whether the process is asked to end.

    A start looks at it between its steps; what runs then is told. The process of a start that does
    not look in time ends as if it was killed, which the next start recovers from.

    Args:
        ends_process: Whether such a process may be ended: it has nothing else to do.
    """

    def __init__(self, *, ends_process: bool = True) -> None:
        self._ends_process = ends_process
        self._lock = threading.Lock()
        self._requested = False
        self._end: Callable[[], None] | None = None
        self._timer: threading.Timer | None = None

    @property
    def requested(self) -> bool:
        """Whether it is asked to end; stays so."""
        return self._requested

    @property
    def ends_start(self) -> bool:
        """Whether it is asked to end while it starts."""
        return self._requested and self._end is None

    def request(self) -> None:
        """Ask the process to end; thread-safe."""
        with self._lock:
            if self._requested:
                return
            self._requested = True
            if self._end is None:
                self._hurry()
            else:
                self._end()

    def starting(self) -> None:
        """A start begins, which looks at the request itself."""
        with self._lock:
            self._end = None
            if self._requested:
                self._hurry()

    def running(self, end: Callable[[], None]) -> None:
        """The start is done, and *end* ends what runs: it returns at once, and is called once."""
        with self._lock:
            self._end = end
            self._relax()
            if self._requested:
                end()

    def check(self) -> None:
        """Go on with a start.

        Raises:
            StopRequestedError: The process is asked to end.
        """
        if self._requested:
            raise StopRequestedError

    def result(self, future: Future[T]) -> T:
        """The result of another thread's part of a start.

        Raises:
            StopRequestedError: The process is asked to end before it is there.
        """
        while not future.done():
            wait((future,), _POLL_SECONDS)
            self.check()
        return future.result()

    def close(self) -> None:
        """The process ends by itself now."""
        with self._lock:
            self._relax()

    def _hurry(self) -> None:
        if self._timer is None and self._ends_process:
            self._timer = threading.Timer(GRACE_SECONDS, os._exit, (0,))
            self._timer.daemon = True
            self._timer.start()

    def _relax(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def end_at_once() -> None:
    """End with 0 on SIGTERM and SIGINT until something handles them; nothing is open yet."""
    for number in SIGNALS:
        signal.signal(number, lambda *_: os._exit(0))


@contextmanager
def on_signals() -> Iterator[Stop]:
    """A request that SIGTERM and SIGINT make, in the main thread.

    A shell starts background commands with SIGINT ignored; this handles it again.
    """
    stop = Stop()
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)
    before = signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    handlers = {number: signal.signal(number, _noted) for number in SIGNALS}
    listener = threading.Thread(target=_listen, args=(receiver, stop), name="signals", daemon=True)
    listener.start()
    try:
        yield stop
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before)
        os.write(sender, _END)
        listener.join()
        os.close(receiver)
        os.close(sender)
        stop.close()


def _noted(number: int, frame: object) -> None:
    """Do nothing: Python has written the signal to the pipe."""


def _listen(receiver: int, stop: Stop) -> None:
    while (number := os.read(receiver, 1)) != _END:
        if number[0] in SIGNALS and not stop.requested:
            _logger.info("Stopping on %s.", signal.Signals(number[0]).name)
            stop.request()
