"""What a pipeline needs from its neighbours. Invariant: no Spark, Kafka or Delta is known here."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.collection.programs import ProgramText
    from streamreasoner.collection.updates import TraceRows
    from streamreasoner.engine.epoch import EpochResult

    Offsets = dict[str, dict[str, list[int]]]
    DecodedChanges = tuple[str, Sequence[pa.Array], NDArray[np.int8]]


class PipelineObserver(Protocol):
    """Told what happens, on the thread that does it; it must not raise and must not block."""

    def batch_started(self, epoch: int, rows: int) -> None:
        """A batch of `rows` messages begins."""

    def stage(self, name: str, seconds: float) -> None:
        """A stage took this long: `read`, `decode`, `evaluate`, `store` or `publish`."""

    def epoch_evaluated(self, result: EpochResult) -> None:
        """The engine has taken the epoch; nothing of it is durable yet."""

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
        """This program is in effect: told at the start, and when another one has come.

        Args:
            program_hash: Hash of the program.
        """

    def control_messages(self, accepted: int, refused: int) -> None:
        """Control messages were followed, or written to the dead-letter topic."""

    def event_time(self, ts: int) -> None:
        """The largest event time of the batch, in milliseconds since 1970-01-01 UTC."""

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """All durable steps of the batch are done."""


class NullObserver:
    """An observer that looks away."""

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

    def control_messages(self, accepted: int, refused: int) -> None:
        """Do nothing."""

    def event_time(self, ts: int) -> None:
        """Do nothing."""

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """Do nothing."""


@contextmanager
def timed(observer: PipelineObserver, stage: str) -> Iterator[None]:
    """Tell an observer how long a stage takes; one that fails is not told of."""
    start = time.perf_counter()
    yield
    observer.stage(stage, time.perf_counter() - start)


class Observers:
    """Several observers as one.

    Args:
        observers: Told in this order.
    """

    def __init__(self, *observers: PipelineObserver) -> None:
        self._observers = observers

    def batch_started(self, epoch: int, rows: int) -> None:
        """Tell all."""
        for one in self._observers:
            one.batch_started(epoch, rows)

    def stage(self, name: str, seconds: float) -> None:
        """Tell all."""
        for one in self._observers:
            one.stage(name, seconds)

    def epoch_evaluated(self, result: EpochResult) -> None:
        """Tell all."""
        for one in self._observers:
            one.epoch_evaluated(result)

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """Tell all."""
        for one in self._observers:
            one.published(changes, rejected, latencies)

    def program(self, program_hash: str) -> None:
        """Tell all."""
        for one in self._observers:
            one.program(program_hash)

    def control_messages(self, accepted: int, refused: int) -> None:
        """Tell all."""
        for one in self._observers:
            one.control_messages(accepted, refused)

    def event_time(self, ts: int) -> None:
        """Tell all."""
        for one in self._observers:
            one.event_time(ts)

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """Tell all."""
        for one in self._observers:
            one.batch_finished(epoch, seconds)


class Tables(Protocol):
    """The durable state of one application; see `streamreasoner.storage.Tables`."""

    def version(self) -> int | None:
        """The last epoch that every table holds, None before the first."""

    def offsets(self, epoch: int) -> Offsets | None:
        """Input range of an epoch: topic -> partition -> [first, next]."""

    @property
    def terms_stored(self) -> int:
        """Number of terms that are durable; the next new term has this id."""

    @property
    def programs(self) -> Sequence[tuple[int, ProgramText]]:
        """Every program that was in effect, with the epoch it came with, oldest first."""

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
        """Append an epoch to every table that does not have it; durable when it returns."""

    def maintain_if_due(self) -> bool:
        """Start background maintenance when enough was written; say whether."""

    def close(self) -> None:
        """Wait for writers and maintenance."""
