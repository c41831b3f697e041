"""How much a pipeline takes at a time, and where its state is.

Invariant: what has begun stays as it was planned, unless it does not fit.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.backends.choice import BackendKind, Limit, can_divide, parts_for
from streamreasoner.io.kafka.reread import fitting
from streamreasoner.io.spark.session import is_local
from streamreasoner.io.spark.source import MAX_POLL_RECORDS, MOST_POLLED
from streamreasoner.pipeline.observers import SizeMonitor
from streamreasoner.pipeline.pressure.limit import BatchLimit
from streamreasoner.service.options import max_batch_bytes, reread_group
from streamreasoner.state import Tables
from streamreasoner.system.capacity import FULL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamreasoner.config import Config
    from streamreasoner.engine.session import Session
    from streamreasoner.io.spark.offsets import Checkpoint

_log = logging.getLogger(__name__)
_AUTO = "auto"
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
    pipeline = config.pipeline
    if pipeline.backend == BackendKind.EXECUTORS.value:
        return BackendKind.EXECUTORS
    is_auto = pipeline.backend == _AUTO
    facts, terms = Tables.rows(config.state.tables)
    return Limit(pipeline.max_state_bytes).choose(
        facts,
        terms,
        parts_for(facts, pipeline.cores) if is_auto else pipeline.cores,
        apart=recorded_place(config) is BackendKind.EXECUTORS,
        may_move=is_auto and _on_a_cluster(config),
    )


def _on_a_cluster(config: Config) -> bool:
    return not is_local(config.spark.options.get("spark.master", "local"))


def _record(config: Config) -> Path:
    return config.state.directory / "backend"


def cores(config: Config) -> int:
    """Among how many parts of this process to divide the state: `auto` gives them addresses."""
    pipeline = config.pipeline
    if pipeline.backend != _AUTO:
        return pipeline.cores
    facts, _ = Tables.rows(config.state.tables)
    return parts_for(facts, pipeline.cores)


def may_move(config: Config, place: BackendKind) -> bool:
    """Whether a state at this place that becomes too large goes on elsewhere, or divided."""
    if place is not BackendKind.COLUMNAR or config.pipeline.backend != _AUTO:
        return False
    return _on_a_cluster(config) or can_divide(cores(config))


def moved(config: Config, parts: int) -> Config:
    """The same for a state that may move and has become too large, with room for more.

    Args:
        config: The configuration.
        parts: Among how many parts of this process the state was divided.
    """
    pipeline = config.pipeline
    if _on_a_cluster(config):
        _log.warning("The state continues in %d executors (pipeline.parts).", pipeline.parts)
        return replace(config, pipeline=replace(pipeline, backend=BackendKind.EXECUTORS.value))
    more = 2 * parts
    _log.warning("The state continues in this process, divided among %d parts.", more)
    return replace(config, pipeline=replace(pipeline, cores=more))


def is_full(config: Config, session: Session) -> bool:
    """Whether a state that may move has to."""
    state = session.engine.statistics().capacity
    if _on_a_cluster(config):
        return Limit(config.pipeline.max_state_bytes).exceeded(state)
    return state.records.ratio > FULL


def size_monitor(config: Config, session: Session, stop: Callable[[], None]) -> SizeMonitor:
    """What stops the query of a state that has to move."""
    return SizeMonitor(lambda: is_full(config, session), stop)


def first_batch(
    config: Config, tables: Tables, checkpoint: Checkpoint
) -> tuple[Checkpoint, BatchLimit]:
    """The limit of the first batch, and the checkpoint without a batch that does not fit.

    The batch that a crash has left is replayed as it was planned, unless it does not fit memory and
    nothing of it is durable: it may be why the process died.
    """
    pipeline = config.pipeline
    epoch = checkpoint.replayed
    limit = BatchLimit.start(
        pipeline.max_offsets_per_trigger,
        max_batch_bytes(config),
        pipeline.target_batch_time,
        pipeline.max_message_bytes,
    )
    if epoch is None or tables.has_begun(epoch):
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
