"""What a pipeline requires of its neighbours. Invariant: imports no Spark, Kafka or Delta."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.program.text import ProgramText

    Offsets = dict[str, dict[str, list[int]]]
    DecodedChanges = tuple[str, Sequence[pa.Array], NDArray[np.int8]]


# Each method has a body: to type checkers, one of a docstring alone is abstract in a protocol.
class PipelineObserver(Protocol):
    """The events of a pipeline; a subclass overrides those that it observes, the others do nothing.

    Called on the thread that does the work; must not raise and must not block.
    """

    def batch_started(self, epoch: int, rows: int) -> None:
        """A batch of `rows` messages begins."""
        del epoch, rows

    def stage(self, name: str, seconds: float) -> None:
        """A stage has taken this long: `read`, `decode`, `evaluate`, `store` or `publish`."""
        del name, seconds

    def epoch_evaluated(self, result: EpochResult) -> None:
        """The engine has applied the epoch; nothing of it is durable yet."""
        del result

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """The epoch's transaction is committed.

        Args:
            changes: Changes written to the output topic.
            rejected: Messages written to the dead-letter topic, by reason class.
            latencies: Seconds from Kafka's timestamp of each input message to the commit.
        """
        del changes, rejected, latencies

    def program(self, program_hash: str) -> None:
        """This program is in effect: called at the start and after each change of program.

        Args:
            program_hash: Hash of the program.
        """
        del program_hash

    def control_messages(self, applied: int, rejected: int) -> None:
        """Control messages were applied, or rejected to the dead-letter topic."""
        del applied, rejected

    def event_time(self, ts: int) -> None:
        """The largest event time of the batch, in milliseconds since 1970-01-01 UTC."""
        del ts

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """All durable steps of the batch are done."""
        del epoch, seconds


_EVENTS = tuple(name for name in vars(PipelineObserver) if not name.startswith("_"))


class Observers(PipelineObserver):
    """Several observers as one: what is called on it is called on each of them, in their order."""

    def __init__(self, *observers: PipelineObserver) -> None:
        for event in _EVENTS:
            setattr(self, event, partial(_tell, observers, event))


def _tell(
    observers: Iterable[PipelineObserver], event: str, *arguments: object, **named: object
) -> None:
    for observer in observers:
        getattr(observer, event)(*arguments, **named)


@contextmanager
def timed(observer: PipelineObserver, stage: str) -> Iterator[None]:
    """Report how long a stage takes; a stage that fails is not reported."""
    start = time.perf_counter()
    yield
    observer.stage(stage, time.perf_counter() - start)


class Tables(Protocol):
    """The durable state of one application; see `streamreasoner.state.Tables`."""

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
