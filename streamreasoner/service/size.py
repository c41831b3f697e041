"""How much a pipeline takes at a time, and where its state is.

Invariant: what has begun stays as it was planned, unless it does not fit.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.backends.choice import BackendKind, Limit
from streamreasoner.io.kafka.reread import fitting
from streamreasoner.io.spark.source import MAX_POLL_RECORDS, MOST_POLLED
from streamreasoner.pipeline.observers import SizeMonitor
from streamreasoner.pipeline.pressure.limit import BatchLimit
from streamreasoner.service.options import max_batch_bytes, reread_group
from streamreasoner.state import Tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamreasoner.config import Config
    from streamreasoner.engine.session import Session
    from streamreasoner.io.spark.offsets import Checkpoint
    from streamreasoner.service.recover import Recovered

_log = logging.getLogger(__name__)
_WITHOUT_LIMIT = frozenset({BackendKind.SPARK.value, BackendKind.EXECUTORS.value})
"""Backends that hold a state of any size, as far as this process is concerned."""
# In memory, the polls of this many partitions take no more than a batch.
_POLLS_IN_MEMORY = 4


def place_of_state(config: Config) -> BackendKind:
    """The backend for the state: as configured, or by its size. Recorded for the next start."""
    place = _chosen(config)
    _record(config).write_text(place.value)
    return place


def recorded_place(config: Config) -> BackendKind | None:
    """The backend that the last process has chosen, which may be running; None before the first."""
    found = _record(config).read_text() if _record(config).exists() else ""
    return next((kind for kind in BackendKind if kind.value == found), None)


def place_to_stand_by(config: Config) -> BackendKind:
    """The backend for a state that another process has."""
    return recorded_place(config) or _chosen(config)


def _chosen(config: Config) -> BackendKind:
    if config.pipeline.backend in _WITHOUT_LIMIT:
        return BackendKind(config.pipeline.backend)
    return Limit(config.pipeline.max_state_bytes).choose(
        *Tables.rows(config.state.tables),
        in_spark=recorded_place(config) is BackendKind.SPARK,
        may_move=config.pipeline.backend == "auto",
    )


def _record(config: Config) -> Path:
    return config.state.directory / "backend"


def may_move(config: Config, place: BackendKind) -> bool:
    """Whether a state at this place moves to Spark when it outgrows memory."""
    return place is BackendKind.COLUMNAR and config.pipeline.backend == "auto"


def moved(config: Config) -> Config:
    """The same with the state in Spark."""
    return replace(config, pipeline=replace(config.pipeline, backend=BackendKind.SPARK.value))


def is_full(config: Config, session: Session) -> bool:
    """Whether a state that may move to Spark has to."""
    limit = Limit(config.pipeline.max_state_bytes)
    return limit.exceeded(session.engine.statistics().capacity)


def size_monitor(config: Config, session: Session, stop: Callable[[], None]) -> SizeMonitor:
    """What stops the query of a state that has to move to Spark."""
    return SizeMonitor(lambda: is_full(config, session), stop)


def first_batch(
    config: Config, recovered: Recovered, session: Session
) -> tuple[Checkpoint, BatchLimit]:
    """The limit of the first batch, and the checkpoint without a batch that does not fit.

    The batch that a crash has left is replayed as it was planned, unless it does not fit memory and
    nothing of it is durable: it may be why the process died.
    """
    pipeline, checkpoint = config.pipeline, recovered.checkpoint
    epoch = checkpoint.replayed
    limit = BatchLimit.start(
        pipeline.max_offsets_per_trigger,
        max_batch_bytes(config),
        pipeline.target_batch_time,
        pipeline.max_message_bytes,
    )
    if epoch is None or recovered.tables.has_begun(epoch) or session.engine.holds(epoch):
        return checkpoint, limit
    most = fitting(config.kafka, reread_group(config), checkpoint.range(epoch), limit.max_bytes)
    if most is None:
        return checkpoint, limit
    _log.warning(
        "Batch %d, which the last run did not finish, is larger than pipeline.max_batch_bytes. It "
        "is planned anew.",
        epoch,
    )
    return checkpoint.withdraw(), limit.at_most(most)


def careful(config: Config) -> Config | None:
    """The same, reading so few messages at a time that the longest fit; None if it does already."""
    options, pipeline = config.kafka.consumer_options, config.pipeline
    fit = max(1, max_batch_bytes(config) // pipeline.max_message_bytes // _POLLS_IN_MEMORY)
    if fit >= int(options.get(MAX_POLL_RECORDS, MOST_POLLED)):
        return None
    options = {**options, MAX_POLL_RECORDS: str(fit)}
    return replace(config, kafka=replace(config.kafka, consumer_options=options))
