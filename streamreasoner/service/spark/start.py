"""Spark's process of a pipeline. Invariant: it ends with the start that began it."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING

from streamreasoner.backends.choice import BackendKind
from streamreasoner.io.spark import session
from streamreasoner.io.spark.tasks.held import HELD
from streamreasoner.service.options import max_batch_bytes
from streamreasoner.state.lock import StateLock
from streamreasoner.system import jvm

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from streamreasoner.config import Config
    from streamreasoner.io.spark.existing import ExistingSession

# How many times `max_batch_bytes` a batch may have, if its messages are longer than those before.
_TOLERANCE = 4


def start_spark(
    config: Config,
    place: BackendKind,
    lock: StateLock,
    stack: ExitStack,
    existing: ExistingSession | None = None,
) -> Future[session.RunningSession]:
    """Start Spark in another thread, unless there is a session.

    Args:
        config: The configuration.
        place: Where the state is.
        lock: The lock of the state, which Spark's process holds too: at once, or with this one.
        stack: Stops it.
        existing: The session that someone else made, and stops.
    """
    if existing is not None:
        adopted: Future[session.RunningSession] = Future()
        adopted.set_result(existing.adopt(_settings(config, place), config.spark.options))
        return adopted
    directory = config.state.directory if lock.held else _directory_of_standby(config, stack)
    process_group = jvm.ProcessGroup()
    stack.callback(process_group.close)
    starter = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="spark-start"))
    starting = starter.submit(
        session.start,
        config.pipeline.app_id,
        directory,
        {**_settings(config, place), **config.spark.options},
        lock.descriptor,
        process_group,
    )
    stack.callback(_stop_spark, starting, process_group)
    return starting


def _directory_of_standby(config: Config, stack: ExitStack) -> Path:
    """A directory for Spark's log and temporary files, which no other process uses."""
    for number in count(1):
        directory = config.state.standby / str(number)
        lock = StateLock(directory, key="", required=False)
        if lock.held:
            stack.callback(lock.close)
            return directory
        lock.close()
    raise AssertionError  # there is always another number


def _settings(config: Config, place: BackendKind) -> dict[str, str]:
    """Spark settings for the location of the state."""
    # A batch that is far too large fails before it fills the JVM's memory.
    settings = {session.MOST_COLLECTED: str(_TOLERANCE * max_batch_bytes(config))}
    return settings | HELD if place is BackendKind.EXECUTORS else settings


def _stop_spark(starting: Future[session.RunningSession], process_group: jvm.ProcessGroup) -> None:
    if not starting.done():
        # The pipeline failed to start, so abort Spark's start.
        process_group.close()
    if starting.exception() is None:
        starting.result().stop()
