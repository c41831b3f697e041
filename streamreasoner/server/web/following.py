"""A replica that a server asks. Invariant: it follows the state whatever clients do.

One thread loads and follows the state; questions run on other threads, a few at a time, and the
event loop runs none of them. What cannot be read is reported by `status`, and tried again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import anyio.to_thread

from streamreasoner.errors import (
    DictionaryFullError,
    LimitError,
    NoEpochError,
    StateError,
    StateFullError,
)
from streamreasoner.history.replica import Replica
from streamreasoner.server.web.errors import HttpError
from streamreasoner.system.memory import physical_memory, return_freed_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamreasoner.history.replica import Snapshot

    T = TypeVar("T")

POLL_SECONDS: Final = 0.05
REST: Final = 4
"""How long following rests, as a multiple of the processor time that it took."""
RETRY_SECONDS: Final = 1.0
TIDY_SECONDS: Final = 5.0
"""How often memory that answers took is returned to the system."""
QUESTIONS: Final = 4
"""Questions that are answered at a time."""
WAITING: Final = 64
"""Questions that may wait for their turn."""

_NO_EPOCH: Final = (
    "The state has no complete epoch yet. Questions are answered from its first epoch on."
)

_logger = logging.getLogger(__name__)


class FollowedReplica:
    """The replica of a server, which loads it after it has started to answer.

    Args:
        tables: Directory of the tables.
        at: The epoch to stay at; None to follow the state.
        seconds: How long a question may take.
        memory: Bytes that facts and answers may take; 0 for half of this process's limit.
    """

    def __init__(self, tables: Path, at: int | None, seconds: float, memory: int) -> None:
        self._memory = memory or physical_memory() // 2
        self._tables = tables
        self._at = at
        self._seconds = seconds
        self._replica: Replica | None = None
        self._problem: str | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="follow", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._advanced = asyncio.Event()
        self._turns = asyncio.Semaphore(QUESTIONS)
        self._asking = 0
        self._used, self._tidied = False, 0.0

    def start(self) -> None:
        """Begin to load; call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """End following, and all waiting for epochs."""
        self._stop.set()
        self._advanced.set()
        self._thread.join()

    @property
    def stays(self) -> bool:
        """Whether the server stays at an epoch of the past."""
        return self._at is not None

    @property
    def stopping(self) -> bool:
        """Whether the server ends."""
        return self._stop.is_set()

    def status(self) -> tuple[bool, str]:
        """Whether questions are answered and the state is followed, and a line that says it."""
        if self._problem is not None:
            return False, self._problem
        if self._replica is None:
            return False, "the state is being loaded"
        return True, f"ok: epoch {self._replica.epoch}"

    @property
    def epoch(self) -> int:
        """The epoch that answers are of; -1 while the state is being loaded."""
        return -1 if self._replica is None else self._replica.epoch

    @property
    def replica(self) -> Replica:
        """The replica.

        Raises:
            HttpError: It is not loaded yet.
        """
        if self._replica is None:
            reason = self._problem or "The state is being loaded. Ask again."
            raise HttpError(503, reason, {"Retry-After": "5"})
        return self._replica

    async def ask(self, question: Callable[[Snapshot], T]) -> T:
        """Answer a question from a snapshot, on another thread.

        Raises:
            HttpError: Too many questions wait, or the state is not loaded yet.
            LimitError: It takes too long.
        """
        replica = self.replica
        if self._asking >= QUESTIONS + WAITING:
            raise HttpError(
                503, "Too many questions wait for an answer. Ask again.", {"Retry-After": "1"}
            )
        self._asking += 1
        self.used()
        try:
            async with self._turns:
                return await anyio.to_thread.run_sync(
                    partial(self._answered, replica, question), abandon_on_cancel=False
                )
        finally:
            self._asking -= 1

    def used(self) -> None:
        """An answer has taken memory."""
        self._used = True

    async def advanced(self, epoch: int, seconds: float) -> int:
        """The last epoch, as soon as it is later than *epoch*, or after some seconds."""
        deadline = time.monotonic() + seconds
        while self.replica.epoch <= epoch and not self.stopping:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            event = self._advanced
            with suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), left)
        return self.replica.epoch

    def _answered(self, replica: Replica, question: Callable[[Snapshot], T]) -> T:
        with replica.snapshot() as snapshot:
            timer = threading.Timer(self._seconds, snapshot.interrupt)
            timer.start()
            try:
                return question(snapshot)
            except InterruptedError:
                raise LimitError(
                    f"The answer takes longer than {self._seconds:g} s (server.question_timeout). "
                    "Ask for less."
                ) from None
            finally:
                timer.cancel()

    def _follow(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            self._tidy()
            wait, began = POLL_SECONDS, time.thread_time()
            try:
                if self._replica is None:
                    self._replica = Replica.open(self._tables, self._at, self._memory)
                    _logger.info("Answering for epoch %d.", self._replica.epoch)
                elif not self._replica.follow():
                    self._problem = None
                    continue
                self._problem = None
                self._announce()
                # Where epochs are many, several are taken at a time, at a share of a processor.
                wait = max(wait, REST * (time.thread_time() - began))
            except NoEpochError:
                self._report(_NO_EPOCH)
                wait = RETRY_SECONDS
            except (StateError, StateFullError, DictionaryFullError) as error:
                self._report(f"The state cannot be followed: {error}")
                wait = RETRY_SECONDS
            except Exception as error:
                _logger.exception("Following the state failed.")
                self._report(f"The state cannot be followed ({type(error).__name__}); see the log.")
                wait = RETRY_SECONDS

    def _tidy(self) -> None:
        """Return the memory of answers, once a while after there were some."""
        now = time.monotonic()
        if self._used and now >= self._tidied + TIDY_SECONDS:
            self._used, self._tidied = False, now
            return_freed_memory()

    def _report(self, problem: str) -> None:
        if self._replica is not None and self._replica.lost:
            self._replica = None
        if problem != self._problem:
            # A new pipeline has no state before its first epoch.
            _logger.log(logging.INFO if self._replica is None else logging.WARNING, "%s", problem)
        self._problem = problem

    def _announce(self) -> None:
        """Wake who waits for an epoch; each of them holds the event that it waits for."""

        def wake() -> None:
            before, self._advanced = self._advanced, asyncio.Event()
            before.set()

        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(wake)
