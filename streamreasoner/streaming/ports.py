"""What a pipeline requires of its neighbours. Invariant: imports no Spark, Kafka or Delta."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.collection.programs import ProgramText
    from streamreasoner.collection.updates import TraceRows
    from streamreasoner.engine.epoch import EpochResult

    Offsets = dict[str, dict[str, list[int]]]
    DecodedChanges = tuple[str, Sequence[pa.Array], NDArray[np.int8]]


class PipelineObserver(Protocol):
    """Called on the thread that does the work; must not raise and must not block."""

    def batch_started(self, epoch: int, rows: int) -> None:
        """A batch of `rows` messages begins."""

    def stage(self, name: str, seconds: float) -> None:
        """A stage has taken this long: `read`, `decode`, `evaluate`, `store` or `publish`."""

    def epoch_evaluated(self, result: EpochResult) -> None:
        """The engine has applied the epoch; nothing of it is durable yet."""

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """The epoch's transaction is committed.

        Args:
            changes: Changes written to the output topic.
            rejected: Messages written to the dead-letter topic, by reason class.
            latencies: Seconds from Kafka's timestamp of each input message to the commit.
        """

    def program(self, program_hash: str) -> None:
        """This program is in effect: called at the start and after each change of program.

        Args:
            program_hash: Hash of the program.
        """

    def control_messages(self, applied: int, rejected: int) -> None:
        """Control messages were applied, or rejected to the dead-letter topic."""

    def event_time(self, ts: int) -> None:
        """The largest event time of the batch, in milliseconds since 1970-01-01 UTC."""

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """All durable steps of the batch are done."""


class NullObserver:
    """An observer that does nothing."""

    def batch_started(self, epoch: int, rows: int) -> None:
        """Do nothing."""

    def stage(self, name: str, seconds: float) -> None:
        """Do nothing."""

    def epoch_evaluated(self, result: EpochResult) -> None:
        """Do nothing."""

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """Do nothing."""

    def program(self, program_hash: str) -> None:
        """Do nothing."""

    def control_messages(self, applied: int, rejected: int) -> None:
        """Do nothing."""

    def event_time(self, ts: int) -> None:
        """Do nothing."""

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """Do nothing."""


@contextmanager
def timed(observer: PipelineObserver, stage: str) -> Iterator[None]:
    """Report how long a stage takes; a stage that fails is not reported."""
    start = time.perf_counter()
    yield
    observer.stage(stage, time.perf_counter() - start)


class Observers:
    """Several observers as one.

    Args:
        observers: Called in this order.
    """

    def __init__(self, *observers: PipelineObserver) -> None:
        self._observers = observers

    def batch_started(self, epoch: int, rows: int) -> None:
        """Forward to every observer."""
        for observer in self._observers:
            observer.batch_started(epoch, rows)

    def stage(self, name: str, seconds: float) -> None:
        """Forward to every observer."""
        for observer in self._observers:
            observer.stage(name, seconds)

    def epoch_evaluated(self, result: EpochResult) -> None:
        """Forward to every observer."""
        for observer in self._observers:
            observer.epoch_evaluated(result)

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """Forward to every observer."""
        for observer in self._observers:
            observer.published(changes, rejected, latencies)

    def program(self, program_hash: str) -> None:
        """Forward to every observer."""
        for observer in self._observers:
            observer.program(program_hash)

    def control_messages(self, applied: int, rejected: int) -> None:
        """Forward to every observer."""
        for observer in self._observers:
            observer.control_messages(applied, rejected)

    def event_time(self, ts: int) -> None:
        """Forward to every observer."""
        for observer in self._observers:
            observer.event_time(ts)

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """Forward to every observer."""
        for observer in self._observers:
            observer.batch_finished(epoch, seconds)


class Tables(Protocol):
    """The durable state of one application; see `streamreasoner.storage.Tables`."""

    def version(self) -> int | None:
        """The last epoch that every table holds, None before the first."""

    @property
    def completing_table(self) -> Path:
        """The table whose commit completes an epoch."""

    def offsets(self, epoch: int) -> Offsets | None:
        """Input range of an epoch: topic -> partition -> [first, next]."""

    @property
    def terms_stored(self) -> int:
        """Number of terms that are durable; the next new term has this id."""

    @property
    def programs(self) -> Sequence[tuple[int, ProgramText]]:
        """Every program that was in effect, with its first epoch, oldest first."""

    def commit(  # noqa: PLR0917 - the interface of storage.Tables
        self,
        epoch: int,
        ts: datetime,
        terms: tuple[int, pa.LargeStringArray],
        trace: Iterable[TraceRows],
        changes: Iterable[DecodedChanges],
        offsets: Offsets,
        program: ProgramText | None,
    ) -> None:
        """Append an epoch to every table that does not have it; durable on return."""

    def maintain_if_due(self) -> bool:
        """Start background maintenance once enough was written; returns whether it started."""

    def close(self) -> None:
        """Wait for writers and maintenance."""
