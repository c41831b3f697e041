"""Waits while Kafka is away. Invariant: a wait is logged once, at its beginning and at its end."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, TypeVar

from streamreasoner.errors import BrokerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.pipeline.observers import PipelineObserver

_T = TypeVar("_T")
_PAUSE_SECONDS = 1.0
_log = logging.getLogger(__name__)


def outlast(
    error: BrokerUnavailableError,
    retry: Callable[[], _T],
    keep_alive: Callable[[], None],
    observer: PipelineObserver,
) -> _T:
    """Retry until Kafka answers.

    Args:
        error: How the first attempt failed.
        retry: The next attempts; what they raise ends the wait, but for `BrokerUnavailableError`.
        keep_alive: Called before each attempt; may end the wait with an exception.
        observer: Told that the pipeline waits, and that it does not any more.
    """
    began = time.monotonic()
    _log.warning("Waiting for Kafka. %s", error)
    observer.waiting(str(error))
    while True:
        time.sleep(_PAUSE_SECONDS)
        keep_alive()
        try:
            result = retry()
        except BrokerUnavailableError as again:
            _log.debug("Still waiting. %s", again)
        else:
            _log.warning("Kafka is back after %.0f s.", time.monotonic() - began)
            observer.waiting(None)
            return result
