"""Puts a pipeline together from a configuration.

Invariant: whatever a start opened is closed in reverse order, whichever step failed.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.config.kafka import read_topics
from streamreasoner.io.kafka.access import security
from streamreasoner.io.kafka.reread import reread
from streamreasoner.io.observer import Observers
from streamreasoner.io.spark.query import Query
from streamreasoner.io.spark.source import read_stream
from streamreasoner.pipeline.batch import EpochRunner
from streamreasoner.pipeline.pressure.outage import KafkaWatch
from streamreasoner.service.options import reread_group
from streamreasoner.service.parts import Restored
from streamreasoner.service.prepared import prepare
from streamreasoner.service.recover import (
    open_output,
    progress_before,
    recover,
    restore,
    resume,
    store_at,
)
from streamreasoner.service.size import first_batch, may_move, size_monitor
from streamreasoner.service.watch import ticker
from streamreasoner.system.stopping import Stop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamreasoner.config import Config
    from streamreasoner.engine.session import Session
    from streamreasoner.io.observer import PipelineObserver
    from streamreasoner.io.spark.existing import Guest
    from streamreasoner.pipeline.observers import SizeMonitor
    from streamreasoner.pipeline.pressure.limit import BatchLimit
    from streamreasoner.pipeline.pressure.outage import Outage
    from streamreasoner.pipeline.ticker import Ticker
    from streamreasoner.service.prepared import Prepared
    from streamreasoner.service.recover import Progress
    from streamreasoner.state.record import Offsets

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A started pipeline.

    Attributes:
        session: Its state; owned by the batch thread while the query runs.
        query: Its query; `stop` it, then `wait`.
        position: Input range of the last finished epoch, None before the first.
        outgrown: Whether the query ends because the state is too large for its backend.
    """

    session: Session
    query: Query
    _runner: EpochRunner
    _size_monitor: SizeMonitor | None

    @property
    def position(self) -> Offsets | None:
        """Input range of the last finished epoch, None before the first; thread-safe."""
        return self._runner.position

    @property
    def outgrown(self) -> bool:
        """Whether the query ends because the state is too large for its backend."""
        return self._size_monitor is not None and self._size_monitor.exceeded


@contextmanager
def pipeline(
    config: Config,
    observer: PipelineObserver | None = None,
    stop: Stop | None = None,
    *,
    standby: bool = False,
    guest: Guest | None = None,
) -> Iterator[Pipeline]:
    """Start a pipeline; on exit, finish the current batch and close.

    Args:
        config: The configuration.
        observer: Notified of every batch, in addition to the metrics.
        stop: Ends the start, or the query once it runs.
        standby: Whether to wait, ready to take over, while another process has the state.
        guest: How it runs in a process that is someone else's.

    Raises:
        StopRequestedError: The start was ended.
        OtherPlaceError: It stood by for a state that has moved; start again.
        StreamReasonerError: A step of the start failed, or a batch did.
    """
    stop = Stop() if stop is None else stop
    stop.starting()
    with ExitStack() as stack:
        prepared = prepare(config, observer, stop, stack, standby=standby, guest=guest)
        with started(prepared, stop) as assembled:
            yield assembled


@contextmanager
def started(prepared: Prepared, stop: Stop) -> Iterator[Pipeline]:
    """Restore the state and start the query; on exit, finish the current batch and close.

    Args:
        prepared: What the pipeline has before.
        stop: Ends the start, or the query once it runs.

    Raises:
        StopRequestedError: The start was ended.
        StreamReasonerError: A step of the start failed, or a batch did.
    """
    stop.starting()
    config, watch, guest = prepared.config, prepared.watch, prepared.guest
    with ExitStack() as stack:
        restored, limit = _restored(prepared, stop, stack)
        watch.observers.program(restored.recovered.in_effect.text.hash)
        parts = restored.parts()
        runner = EpochRunner(parts, restored.recovered.point)
        lag = watch.state(restored, runner, stack)
        spark = stop.result(prepared.starting)
        stream = read_stream(
            spark.spark,
            config.kafka,
            security.java(config.kafka.security),
            config.rules.control_topic,
            limit.messages,
        )
        stop.result(prepared.warming)
        monitor = None
        if may_move(config, prepared.place):
            monitor = size_monitor(config, restored.session, lambda: query.stop())  # noqa: PLW0108 - assigned below
        ticking = ticker(restored, runner, lag)
        query = Query(
            stream,
            runner,
            partial(reread, config.kafka, reread_group(config)),
            Observers(watch.observers, *_told(monitor, ticking, restored.progress)),
            config.pipeline.batch_timeout,
            limit,
            None if guest is None else guest.overdue,
        )
        _start(query, config, spark.temporary, stack)
        outage = parts.outage
        stack.callback(KafkaWatch(restored.output.presence.why_silent, outage).stop)
        if ticking is not None:
            ticking.start()
            stack.callback(ticking.stop)
        if watch.metrics is not None:
            watch.metrics.health.ready(is_ready=True)
            stack.callback(watch.metrics.health.ready, is_ready=False)
        _tell_running(stop, query, outage, guest)
        _log.info("Reading %s.", ", ".join(read_topics(config.kafka, config.rules.control_topic)))
        yield Pipeline(restored.session, query, runner, monitor)


def _restored(prepared: Prepared, stop: Stop, stack: ExitStack) -> tuple[Restored, BatchLimit]:
    """The pipeline with its state, and the limit of the first batch."""
    config, place, checked = prepared.config, prepared.place, prepared.checked
    output = open_output(config, stack, stop.check)
    stop.check()
    recovered = recover(config, checked, output, stack)
    progress = progress_before(config, recovered)
    stop.check()
    follower = prepared.follower
    session = None if follower is None else follower.session_before(recovered)
    if session is None:
        store = store_at(place, config, recovered, partial(stop.result, prepared.starting), stack)
        session = restore(config, recovered, store, progress)
    else:
        resume(recovered, session, progress)
    checkpoint, limit = first_batch(config, recovered.tables, recovered.checkpoint)
    observers = prepared.watch.observers
    return Restored(
        config, place, checked, output, recovered, checkpoint, session, progress, observers
    ), limit


def _start(query: Query, config: Config, temporary: Path | None, stack: ExitStack) -> None:
    query.start(
        config.pipeline.app_id,
        config.state.checkpoint_directory,
        config.pipeline.trigger_interval,
        temporary,
    )
    stack.callback(query.wait)
    stack.callback(query.stop)


def _told(
    monitor: SizeMonitor | None, ticking: Ticker | None, progress: Progress | None
) -> Iterator[PipelineObserver]:
    """What else is notified of batches; partitions may be idle while there are some."""
    if monitor is not None:
        yield monitor
    if ticking is not None and progress is None:
        yield ticking


def _tell_running(stop: Stop, query: Query, outage: Outage, guest: Guest | None) -> None:
    """Hand over how the query ends: of an own process soon, too, if Kafka is away."""
    if guest is None:
        stop.running(partial(_end, query, outage))
    else:
        stop.running(query.stop)
        guest.ready()


def _end(query: Query, outage: Outage) -> None:
    """End a query after the current batch, or soon if Kafka is away."""
    query.stop()
    outage.end_process()
