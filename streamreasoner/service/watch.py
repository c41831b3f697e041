"""What shows how a pipeline is, and what moves its time on.

Invariant: it changes no state of the pipeline.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.io.kafka.lag import Lag
from streamreasoner.io.kafka.topics import produce_one, send_to_partition
from streamreasoner.io.observer import Observers, PipelineObserver
from streamreasoner.pipeline.control import write_tick
from streamreasoner.pipeline.observers import RejectionLog
from streamreasoner.pipeline.recent.profile import Profile
from streamreasoner.pipeline.recent.rejections import Rejections
from streamreasoner.pipeline.slots.idle import IdlePartitions
from streamreasoner.pipeline.ticker import Ticker
from streamreasoner.server.http import Exporter
from streamreasoner.server.metrics import PrometheusObserver, Sources
from streamreasoner.server.pages import Pages, Upstream
from streamreasoner.server.supervisor import ServerProcess

if TYPE_CHECKING:
    from contextlib import ExitStack

    from streamreasoner.config import Config
    from streamreasoner.pipeline.batch import EpochRunner
    from streamreasoner.service.parts import Restored

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Watch:
    """What is told of the batches of a pipeline.

    Attributes:
        observers: All of them.
        metrics: The metrics, if they are served.
        profile: What the last epochs did, if the server of facts shows it.
    """

    observers: Observers
    metrics: PrometheusObserver | None
    profile: Profile | None

    def state(self, restored: Restored, runner: EpochRunner, stack: ExitStack) -> Lag:
        """Show sizes and lag; returns what counts the lag."""
        config, session = restored.config, restored.session
        lag = Lag(config.kafka, config.pipeline.app_id, lambda: runner.position)
        stack.callback(lag.close)
        if self.metrics is not None:
            self.metrics.watch(
                Sources(
                    state=session.engine.statistics,
                    terms=session.dictionary,
                    storage=restored.recovered.tables.statistics,
                    lag=lag,
                )
            )
        if self.profile is not None:
            self.profile.watch(lag.total)
        return lag


def start_watch(config: Config, stack: ExitStack, other: PipelineObserver | None) -> Watch:
    """Serve metrics from the beginning: restoring a large state takes long.

    Args:
        config: The configuration.
        stack: Ends it.
        other: One more observer.
    """
    # Only the server of facts shows what the last epochs did.
    recent = (Profile(), Rejections()) if config.server.facts else None
    metrics = _metrics(config, stack, recent)
    observers = (metrics, RejectionLog(config.kafka.dead_letter_topic), *(recent or ()), other)
    return Watch(
        Observers(*(each for each in observers if each is not None)),
        metrics,
        None if recent is None else recent[0],
    )


def _metrics(
    config: Config, stack: ExitStack, recent: tuple[Profile, Rejections] | None
) -> PrometheusObserver | None:
    server = config.server
    if server.port == 0:
        return None
    observer = PrometheusObserver(config.pipeline.batch_timeout, config.pipeline.trigger_interval)
    if recent is None:
        stack.enter_context(Exporter(observer, server.host, server.port))
        return observer
    profile, rejections = recent
    pages = Pages({"/profile": profile.document, "/dead-letters": rejections.document})
    own = stack.enter_context(Exporter(observer, port=0, pages=pages))
    upstream = Upstream(own.port, pages.token)
    tables, restarted = config.state.tables, observer.server_restarted
    stack.enter_context(ServerProcess(server, tables, upstream, config.log, restarted))
    return observer


def ticker(restored: Restored, runner: EpochRunner, lag: Lag) -> Ticker | None:
    """What moves the frontier while there is no input; None if nothing waits for it."""
    config, session, progress = restored.config, restored.session, restored.progress
    topic, idle = config.rules.control_topic, config.time.idle_advance
    if idle == 0:
        return None
    if progress is not None:
        send_to = partial(send_to_partition, config.kafka)
        return Ticker(
            idle / 1000,
            lambda: len(progress.waiting) > 0 or session.engine.awaits_time,
            IdlePartitions(lambda: runner.position, lag, send_to).send,
        )
    engine = session.engine
    if not (session.program.expiries or engine.awaits_facts):
        return None
    if topic is None:
        waiting = "expire" if session.program.expiries else "of the program hold"
        _log.warning(
            "Facts %s only while input arrives, because rules.control_topic is not set. Set it, or "
            "set time.idle_advance to PT0S if that is intended.",
            waiting,
        )
        return None
    send = partial(produce_one, config.kafka, topic)
    return Ticker(
        idle / 1000,
        lambda: engine.awaits_time or engine.awaits_facts,
        lambda time: send(write_tick(time)),
    )
