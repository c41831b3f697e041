"""The pipeline's Prometheus metrics. Invariant: no label holds a term.

Names begin with `streamreasoner_` and end in their base unit; labels are few and bounded: stage,
sign, class of rejection, outcome, hash of the program, topic and partition. Each observer has its
own registry, so that pipelines in one process do not share metrics.
"""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.io.observer import PipelineObserver
from streamreasoner.server.catch_up import CatchUp
from streamreasoner.server.health import Health
from streamreasoner.server.histogram import BatchHistogram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sized

    from numpy.typing import NDArray
    from prometheus_client.core import Metric

    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.engine.ports import Statistics
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.state.tables import StorageStatistics

SECONDS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4),
    *(0.5, 0.75, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0),
)
ITERATIONS: Final = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 50, 100, 1000, 10_000, 100_000)
STAGES: Final = ("read", "decode", "evaluate", "store", "publish")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where gauges read their values.

    Attributes:
        state: Size of the engine's state; read after each batch, on the batch's thread.
        terms: The dictionary; its length is read after each batch.
        storage: Size of the tables; read after each batch.
        lag: Messages not yet read: (topic, partition) -> number; called at each scrape, on the
            exporter's thread, so it must be thread-safe and must not block for long.
    """

    state: Callable[[], Statistics]
    terms: Sized
    storage: Callable[[], StorageStatistics]
    lag: Callable[[], Mapping[tuple[str, str], int]]


class PrometheusObserver(PipelineObserver):
    """Observes a pipeline; `registry` holds its metrics, `health` its liveness.

    Args:
        batch_timeout: Seconds after which a batch counts as stuck.
        trigger_interval: Seconds from one batch's start to the next.
    """

    def __init__(self, batch_timeout: float = 600.0, trigger_interval: float = 0.0) -> None:
        self.registry = CollectorRegistry()
        self.health = Health(batch_timeout)
        self.catch_up = CatchUp(trigger_interval)
        self._rows = 0
        self._sources: Sources | None = None
        self._merged = (0, 0)
        self._overflowed = 0
        self._batch_metrics()
        self._state_metrics()
        ProcessCollector(registry=self.registry)
        self.registry.register(_LagCollector(self))
        self._build = self._gauge(
            "build_info",
            "Always 1; the labels describe the running build.",
            "version",
            "python",
            "backend",
        )
        self._gauge(
            "trigger_interval_seconds", "Configured time from one batch's start to the next."
        ).set(trigger_interval)

    def _batch_metrics(self) -> None:
        self._stages = self._histogram(
            "stage_duration_seconds", "Duration of one stage of a batch.", SECONDS, "stage"
        )
        self._batch = self._histogram(
            "batch_duration_seconds", "Duration of a batch, all durable steps included.", SECONDS
        )
        self._latency = BatchHistogram(
            "streamreasoner_end_to_end_latency_seconds",
            "From Kafka's timestamp of an input message to the commit of its epoch's output.",
            SECONDS,
        )
        self.registry.register(self._latency)
        self._waits = self._gauge(
            "waiting_for_kafka", "1 while Kafka does not answer, or takes no messages."
        )
        self._size = self._gauge("batch_bytes", "Bytes of the last batch's messages.")
        self._limit = self._gauge("batch_limit_messages", "Most messages in the next batch.")
        self._iterations = self._histogram(
            "epoch_iterations", "Iterations touched by an epoch, over all strata.", ITERATIONS
        )
        self._recomputed = self._counter(
            "recomputed_epochs",
            "Epochs that were evaluated anew, at once or after their rules were given up.",
            "outcome",
        )
        self._messages = self._counter(
            "input_messages", "Messages read from the input and control topics."
        )
        self._updates = self._counter("updates", "Updates evaluated.")
        self._derived = self._counter(
            "derived_changes", "Derived facts that became present (+1) or absent (-1).", "sign"
        )
        self._published = self._counter("published_changes", "Changes on the output topic.")
        self._rejected = self._counter(
            "rejected", "Messages on the dead-letter topic, by class of mistake.", "class"
        )
        self._control = self._counter(
            "control_messages", "Control messages applied or rejected.", "outcome"
        )
        self._program = self._gauge(
            "program_info", "Always 1; the label identifies the program in effect.", "hash"
        )
        self._batches = self._counter("batches", "Batches finished.")
        self._epoch = self._gauge("epoch", "The last finished epoch.")
        self._event_lag = self._gauge(
            "event_time_lag_seconds", "Time of the batch minus the largest event time in it."
        )
        self._late = self._counter("late_assertions", "Assertions that had expired when they came.")
        self._expired = self._counter("expired_facts", "Facts that left because of their time.")
        self._frontier = self._gauge(
            "frontier_seconds", "Event time up to which facts have expired, since 1970."
        )
        self._waiting = self._gauge("waiting_updates", "Updates that wait for their slots.")
        self._late_updates = self._counter(
            "late_updates", "Updates that came after their slots, and belong to later ones."
        )
        for stage in STAGES:
            self._stages.labels(stage)
        for sign in ("+1", "-1"):
            self._derived.labels(sign)
        for outcome in ("accepted", "refused"):
            self._control.labels(outcome)
        for outcome in ("at_once", "given_up"):
            self._recomputed.labels(outcome)

    def _state_metrics(self) -> None:
        self._present = self._gauge(
            "facts", "Facts present: the closure, or what memory has of it if it is encoded."
        )
        self._violations = self._gauge(
            "violations", "Violations present, by constraint.", "constraint"
        )
        self._asserted = self._gauge("facts_asserted", "Facts present by assertion.")
        self._held = self._gauge("facts_held", "Facts held, present or not.")
        self._below_zero = self._gauge(
            "facts_below_zero", "Facts retracted more often than asserted."
        )
        self._counts = self._gauge("counts", "Pairs of fact and iteration with a multiplicity.")
        self._terms = self._gauge("terms", "Terms in the dictionary.")
        self._state_bytes = self._gauge("state_bytes", "Memory of the engine's state.")
        self._fill = self._gauge("fill_ratio", "Used fraction of the capacity, 0 to 1.", "store")
        self._storage_bytes = self._gauge("storage_bytes", "Data files of the Delta tables.")
        self._overflows = self._counter(
            "overflows", "Rule expressions without a value because the result exceeds 64 bits."
        )
        self._compactions = self._counter("compactions", "Merges of data files.")
        self._failures = self._counter("maintenance_failures", "Maintenance runs that failed.")
        self._restarts = self._counter(
            "server_restarts", "How often the server's process has ended by itself."
        )
        self._standby = self._gauge(
            "standby", "Whether this process stands by for another one: 1, or 0 once it leads."
        )
        self._standby_epoch = self._gauge(
            "standby_epoch", "The last epoch that this process has followed; -1 before the first."
        )

    def standing_by(self, status: str | None, epoch: int = -1) -> None:
        """This process follows another one, up to an epoch; None: it leads."""
        self._standby.set(status is not None)
        self._standby_epoch.set(epoch)
        self.health.standing_by(status)

    def backend(self, name: str) -> None:
        """The pipeline runs on this backend."""
        self._build.clear()
        self._build.labels(_version(), platform.python_version(), name).set(1)

    def watch(self, sources: Sources) -> None:
        """Export sizes from now on, starting before the first batch; they count from 0."""
        self._sources, self._overflowed, self._merged = sources, 0, (0, 0)
        self._sample()

    def server_restarted(self) -> None:
        """The server's process has ended by itself, and is started again."""
        self._restarts.inc()

    def batch_started(self, epoch: int, rows: int) -> None:
        """A batch of `rows` messages begins."""
        self.health.batch_started(epoch)
        self._messages.inc(rows)
        self._rows = rows

    def stage(self, name: str, seconds: float) -> None:
        """A stage of the batch has taken this long."""
        self._stages.labels(name).observe(seconds)

    def epoch_evaluated(self, result: EpochResult, program: CheckedProgram) -> None:
        """The engine has applied the epoch."""
        del program  # its rules are not labels
        self._updates.inc(result.updates)
        self._iterations.observe(result.iterations)
        if result.recomputed:
            self._recomputed.labels("given_up" if result.given_up else "at_once").inc()
        self._late.inc(result.late)
        self._expired.inc(result.expired)
        if result.frontier != NO_FRONTIER:
            self._frontier.set(result.frontier / 1000)
        for changes in result.derived:
            gained = int(np.count_nonzero(changes.multiplicity > 0))
            self._derived.labels("+1").inc(gained)
            self._derived.labels("-1").inc(len(changes.multiplicity) - gained)

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """The epoch's transaction is committed."""
        self._published.inc(changes)
        for reason, number in rejected.items():
            self._rejected.labels(reason).inc(number)
        self._latency.observe(latencies)

    def dead_letters(self, letters: Sized) -> None:
        """Nothing: their number is known, and their texts are not labels."""

    def program(self, program_hash: str) -> None:
        """This program is in effect."""
        self._program.clear()
        self._program.labels(program_hash).set(1)

    def control_messages(self, applied: int, rejected: int) -> None:
        """Control messages were applied, or rejected to the dead-letter topic."""
        self._control.labels("accepted").inc(applied)
        self._control.labels("refused").inc(rejected)

    def violations(self, present: Mapping[str, int]) -> None:
        """The number of violations present, by constraint."""
        self._violations.clear()
        for name, number in present.items():
            self._violations.labels(name).set(number)

    def event_time(self, ts: int) -> None:
        """The largest event time of the batch, in milliseconds since 1970-01-01 UTC."""
        self._event_lag.set(time.time() - ts / 1000)

    def waiting(self, reason: str | None) -> None:
        """The batch waits for Kafka, or goes on."""
        self._waits.set(reason is not None)
        self.health.waiting(reason)

    def paced(self, size: int, limit: int) -> None:
        """The size of the batch in bytes, and of the next one in messages."""
        self._size.set(size)
        self._limit.set(limit)

    def slots_waiting(self, updates: int, late: int) -> None:
        """*updates* wait for their slots; *late* ones of the batch came after theirs."""
        self._waiting.set(updates)
        self._late_updates.inc(late)

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """All durable steps of the batch are done."""
        self.catch_up.batch(self._rows, seconds)
        self._batch.observe(seconds)
        self._batches.inc()
        self._epoch.set(epoch)
        self._sample()
        self.health.batch_finished()

    def lag(self) -> Mapping[tuple[str, str], int]:
        """Messages not yet read, by topic and partition; empty without a source."""
        return {} if self._sources is None else self._sources.lag()

    def _sample(self) -> None:
        if self._sources is None:
            return
        state = self._sources.state()
        self._present.set(state.present)
        self._asserted.set(state.asserted)
        self._held.set(state.facts)
        self._below_zero.set(state.below_zero)
        self._counts.set(state.trace_rows)
        self._state_bytes.set(state.bytes)
        self._overflows.inc(state.overflows - self._overflowed)
        self._overflowed = state.overflows
        self._terms.set(len(self._sources.terms))
        for store, fill in state.capacity.stores.items():
            self._fill.labels(store).set(fill.ratio)
        storage = self._sources.storage()
        self._storage_bytes.set(storage.bytes)
        compactions, failures = self._merged
        self._compactions.inc(storage.compactions - compactions)
        self._failures.inc(storage.maintenance_failures - failures)
        self._merged = (storage.compactions, storage.maintenance_failures)

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"streamreasoner_{name}", documentation, labels, registry=self.registry)

    def _gauge(self, name: str, documentation: str, *labels: str) -> Gauge:
        return Gauge(f"streamreasoner_{name}", documentation, labels, registry=self.registry)

    def _histogram(
        self, name: str, documentation: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(
            f"streamreasoner_{name}", documentation, labels, buckets=buckets, registry=self.registry
        )


class _LagCollector(Collector):
    """Reads the consumer's lag at each scrape, and how long it will take."""

    def __init__(self, observer: PrometheusObserver) -> None:
        self._observer = observer

    def collect(self) -> Iterator[Metric]:
        lag = self._observer.lag()
        family = GaugeMetricFamily(
            "streamreasoner_consumer_lag_messages",
            "Messages in the input topics that no batch has read yet.",
            labels=("topic", "partition"),
        )
        for (topic, partition), messages in lag.items():
            family.add_metric([topic, partition], messages)
        yield family
        family = GaugeMetricFamily(
            "streamreasoner_catch_up_seconds",
            "Time until the lag is worked off at the present rates; +Inf if it does not shrink.",
        )
        seconds = self._observer.catch_up.seconds(sum(lag.values())) if lag else None
        if seconds is not None:
            family.add_metric([], seconds)
        yield family


def _version() -> str:
    try:
        return version("streamreasoner")
    except PackageNotFoundError:
        return "source"
