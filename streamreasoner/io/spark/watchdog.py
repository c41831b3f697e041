"""Ends a process with a stuck batch. Invariant: no batch outlives its timeout plus the grace.

A process that has other things to do is told of the batch instead, which cannot be ended alone.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_CODE = 70
# The file descriptor: a notebook or a test may have replaced sys.stderr.
_STDERR = 2


class Watchdog:
    """Guards one batch at a time: `with watchdog.guard(epoch): ...`.

    There are two timers. A thread reports the batch and exits. If native code holds the GIL and
    Python's threads cannot run, faulthandler's own timer prints the stacks, and a timer of the
    operating system ends the process with the same exit code.

    Args:
        timeout: Seconds a batch may take.
        grace: Seconds between the timers.
        overdue: Called with the number of a batch that is stuck, instead of ending the process.
    """

    def __init__(
        self,
        timeout: float,
        *,
        grace: float = 5.0,
        overdue: Callable[[int], None] | None = None,
    ) -> None:
        self._timeout = timeout
        self._grace = grace
        self._overdue = overdue
        self._condition = threading.Condition()
        self._batch: tuple[int, float] | None = None
        self._closed = False
        self._timer = _ExitTimer(EXIT_CODE) if overdue is None else None
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def guard(self, epoch: int) -> _Guard:
        """A context in which the batch must finish in time."""
        return _Guard(self, epoch)

    def close(self) -> None:
        """Stop watching; a second call does nothing."""
        with self._condition:
            if self._closed:
                return
            self._closed = True
            self._condition.notify()
        self._thread.join()
        if self._timer is not None:
            self._timer.close()

    def _set(self, batch: tuple[int, float] | None) -> None:
        if self._timer is None:
            pass
        elif batch is not None:
            faulthandler.dump_traceback_later(self._timeout + self._grace, file=_STDERR)
            self._timer.set(self._timeout + 2 * self._grace)
        else:
            faulthandler.cancel_dump_traceback_later()
            self._timer.set(0)
        # The thread need not wake: it reads the batch when the previous deadline passes.
        self._batch = batch

    def _watch(self) -> None:
        with self._condition:
            while not self._closed:
                batch = self._batch
                left = self._timeout if batch is None else batch[1] - time.monotonic()
                if batch is not None and left <= 0:
                    self._give_up(batch[0])
                    left = self._timeout
                self._condition.wait(min(left, self._timeout))

    def _give_up(self, epoch: int) -> None:
        if self._overdue is not None:
            self._overdue(epoch)
            return
        message = (
            f"Batch {epoch} did not finish within {self._timeout:g} s (pipeline.batch_timeout). "
            "The process exits; a restart repeats the batch. Stacks:\n"
        )
        os.write(_STDERR, message.encode())
        faulthandler.dump_traceback(_STDERR, all_threads=True)
        os._exit(EXIT_CODE)


class _Guard:
    def __init__(self, watchdog: Watchdog, epoch: int) -> None:
        self._watchdog = watchdog
        self._epoch = epoch

    def __enter__(self) -> Callable[[], None]:
        """Start the timers; the result restarts them."""
        self._start()
        return self._start

    def _start(self) -> None:
        deadline = time.monotonic() + self._watchdog._timeout  # noqa: SLF001 - one unit
        self._watchdog._set((self._epoch, deadline))  # noqa: SLF001

    def __exit__(self, *_: object) -> None:
        self._watchdog._set(None)  # noqa: SLF001


class _ExitTimer:
    """Ends the process after a time, with an exit code, whatever Python does.

    A POSIX timer whose notification function is `_exit` itself, called with the exit code as its
    value: the C library runs it in its own thread, independent of the interpreter.
    """

    def __init__(self, exit_code: int) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        event = _SignalEvent()
        event.value.number = exit_code
        event.notify = _NOTIFY_BY_THREAD
        event.function = ctypes.cast(self._library._exit, ctypes.c_void_p)  # noqa: SLF001
        self._id = ctypes.c_void_p()
        self._check(
            self._library.timer_create(
                time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(self._id)
            )
        )

    def set(self, seconds: float) -> None:
        """End the process this many seconds from now; 0 cancels."""
        thousandths = round(seconds * 1000)
        when = _TimerSpec(first=_TimeSpec(thousandths // 1000, thousandths % 1000 * 1_000_000))
        self._check(self._library.timer_settime(self._id, 0, ctypes.byref(when), None))

    def close(self) -> None:
        """Delete the timer."""
        self._check(self._library.timer_delete(self._id))

    def _check(self, status: int) -> None:
        if status != 0:
            number = ctypes.get_errno()
            raise OSError(
                number, f"Cannot set a timer for pipeline.batch_timeout: {os.strerror(number)}."
            )


_NOTIFY_BY_THREAD = 2  # SIGEV_THREAD


class _SignalValue(ctypes.Union):
    _fields_ = (("number", ctypes.c_int), ("pointer", ctypes.c_void_p))


class _SignalEvent(ctypes.Structure):
    """`struct sigevent` of Linux."""

    _fields_ = (
        ("value", _SignalValue),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("padding", ctypes.c_char * 32),
    )


class _TimeSpec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _TimerSpec(ctypes.Structure):
    _fields_ = (("interval", _TimeSpec), ("first", _TimeSpec))
