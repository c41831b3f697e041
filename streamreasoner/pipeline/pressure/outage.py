"""The times in which Kafka is away. Invariant: one is logged once when it begins and once it ends.

A batch notices that Kafka is away when it publishes; without one, a thread asks every few seconds.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from streamreasoner.errors import BrokerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.io.observer import PipelineObserver

_T = TypeVar("_T")
_PAUSE_SECONDS = 1.0
# Two questions in a row without an answer are an outage: after 12 s at the latest.
_ASK_SECONDS = 2.0
_ANSWER_SECONDS = 4.0
_UNANSWERED = 2
# A process that is asked to end while Kafka is away ends after this time.
_GRACE_SECONDS = 6.0
_log = logging.getLogger(__name__)


class Noticed(Enum):
    """Who has noticed that Kafka is away."""

    BATCH = "a batch"
    WATCH = "the watch"


class Outage:
    """Whether Kafka is away; thread-safe.

    Args:
        observer: Told that the pipeline waits, and that it does not any more.
    """

    def __init__(self, observer: PipelineObserver) -> None:
        self._observer = observer
        self._lock = threading.Lock()
        self._noticed: set[Noticed] = set()
        self._began = 0.0

    def begin(self, by: Noticed, reason: str) -> None:
        """Kafka does not answer."""
        with self._lock:
            is_new = not self._noticed
            self._noticed.add(by)
            if is_new:
                self._began = time.monotonic()
                _log.warning("Waiting for Kafka. %s", reason)
                self._observer.waiting(reason)

    def end(self, by: Noticed) -> None:
        """Kafka answers again; does nothing if it has not been away."""
        with self._lock:
            was_noticed = by in self._noticed
            self._noticed.discard(by)
            if was_noticed and not self._noticed:
                _log.warning("Kafka is back after %.0f s.", time.monotonic() - self._began)
                self._observer.waiting(None)

    def outlast(
        self,
        error: BrokerUnavailableError,
        retry: Callable[[], _T],
        keep_alive: Callable[[], None],
    ) -> _T:
        """Retry until Kafka answers.

        Args:
            error: How the first attempt failed.
            retry: The next attempts; what they raise ends the wait, but for
                `BrokerUnavailableError`.
            keep_alive: Called before each attempt; may end the wait with an exception.
        """
        self.begin(Noticed.BATCH, str(error))
        while True:
            time.sleep(_PAUSE_SECONDS)
            keep_alive()
            try:
                result = retry()
            except BrokerUnavailableError as again:
                _log.debug("Still waiting. %s", again)
            else:
                self.end(Noticed.BATCH)
                return result

    def end_process(self) -> None:
        """End this process soon if Kafka is away then; returns at once.

        Clients and Spark wait for Kafka for minutes. The process ends as if it was killed, which
        loses nothing, but with 0.
        """
        threading.Thread(target=self._end_process, name="end-process", daemon=True).start()

    def _end_process(self) -> None:
        time.sleep(_GRACE_SECONDS)
        while not self._noticed:
            time.sleep(_PAUSE_SECONDS)
        _log.warning("Ending while Kafka is away. Nothing is lost.")
        logging.shutdown()
        os._exit(0)


class KafkaWatch:
    """Asks whether Kafka is there, from construction to `stop`.

    Args:
        why_silent: Why no broker answers within some seconds; None if one does.
        outage: Told what it finds.
    """

    def __init__(self, why_silent: Callable[[float], str | None], outage: Outage) -> None:
        self._why_silent = why_silent
        self._outage = outage
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kafka-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask no more; returns at once."""
        self._stopped.set()

    def _run(self) -> None:
        unanswered = 0
        while not self._stopped.wait(_ASK_SECONDS):
            why = self._why_silent(_ANSWER_SECONDS)
            if why is None:
                unanswered = 0
                self._outage.end(Noticed.WATCH)
                continue
            unanswered += 1
            if unanswered == _UNANSWERED:
                self._outage.begin(Noticed.WATCH, why)
