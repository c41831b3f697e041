"""A stuck batch ends the process. Invariant: no batch runs longer than its timeout and a grace."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

EXIT_CODE = 70


class Watchdog:
    """Guards one batch at a time: `with watchdog.guard(epoch): ...`.

    Two clocks run. A thread explains and exits; should native code hold the interpreter, so that
    no thread runs, faulthandler's own clock dumps the stacks and exits a little later.

    Args:
        timeout: Seconds a batch may take.
        grace: Seconds that the first clock has before the second one acts.
    """

    def __init__(self, timeout: float, *, grace: float = 5.0) -> None:
        self._timeout = timeout
        self._grace = grace
        self._condition = threading.Condition()
        self._batch: tuple[int, float] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def guard(self, epoch: int) -> _Guard:
        """A context in which the batch must finish in time."""
        return _Guard(self, epoch)

    def close(self) -> None:
        """Stop watching."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        self._thread.join()

    def _set(self, batch: tuple[int, float] | None) -> None:
        if batch is not None:
            faulthandler.dump_traceback_later(self._timeout + self._grace, exit=True)
        else:
            faulthandler.cancel_dump_traceback_later()
        # The thread sleeps on: it looks at the batch when the one it knew should have ended.
        self._batch = batch

    def _watch(self) -> None:
        with self._condition:
            while not self._closed:
                batch = self._batch
                left = self._timeout if batch is None else batch[1] - time.monotonic()
                if batch is not None and left <= 0:
                    self._give_up(batch[0])
                self._condition.wait(min(left, self._timeout))

    def _give_up(self, epoch: int) -> None:
        sys.stderr.write(
            f"Batch {epoch} did not finish within {self._timeout:g} s (pipeline.batch_timeout). "
            "The process ends; a restart repeats the batch. Where it stood:\n"
        )
        sys.stderr.flush()
        faulthandler.dump_traceback(all_threads=True)
        os._exit(EXIT_CODE)


class _Guard:
    def __init__(self, watchdog: Watchdog, epoch: int) -> None:
        self._watchdog = watchdog
        self._epoch = epoch

    def __enter__(self) -> None:
        deadline = time.monotonic() + self._watchdog._timeout  # noqa: SLF001 - one unit
        self._watchdog._set((self._epoch, deadline))  # noqa: SLF001

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._watchdog._set(None)  # noqa: SLF001
