"""One batch = one epoch: decode, evaluate, then the durable steps.

1. Append the epoch to the Delta tables, with the epoch as transaction version.
2. Publish changes, dead letters and the marker in one Kafka transaction.
3. Return, so that Spark commits the batch.

Invariant: a batch that is run again, after a crash anywhere, leaves tables and topics as if it had
run once: evaluation is deterministic, step 1 skips tables that have the epoch, step 2 is skipped
when the marker names the epoch.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.streaming import offsets, output, timestamps
from streamreasoner.streaming.codec import append_milliseconds
from streamreasoner.streaming.dead_letter import dead_letters
from streamreasoner.streaming.sink import Marker, Publication

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.streaming.codec import Codec, Decoded
    from streamreasoner.streaming.offsets import Checkpoint
    from streamreasoner.streaming.ports import (
        DecodedChanges,
        Engine,
        Offsets,
        PipelineObserver,
        Tables,
    )
    from streamreasoner.streaming.recovery import Resume
    from streamreasoner.streaming.sink import Sink


@dataclass(frozen=True, slots=True)
class Selection:
    """Which changes are published.

    Attributes:
        closure: Changes of all facts; if false, of the derived ones only.
        predicates: Of these predicates only; of all if empty.
    """

    closure: bool
    predicates: frozenset[str]


@dataclass(frozen=True, slots=True)
class Parts:
    """What an epoch passes through, in this order.

    Attributes:
        checkpoint: Tells the range of a batch.
        codec: Messages to updates.
        engine: Updates to changes.
        selection: Changes that are published.
        dictionary: Ids to terms.
        tables: Durable step 1.
        sink: Durable step 2.
        program_hash: Of the program that the engine runs.
        observer: Told about everything.
    """

    checkpoint: Checkpoint
    codec: Codec
    engine: Engine
    selection: Selection
    dictionary: Dictionary
    tables: Tables
    sink: Sink
    program_hash: str
    observer: PipelineObserver


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An epoch of which nothing is durable yet.

    Attributes:
        epoch: The epoch.
        range: Its input: topic -> partition -> [first, next].
        batch: Its messages, in order.
        decoded: Its updates and rejections.
        result: What the engine says.
        changes: The changes to publish, decoded.
        ts: Its event time, milliseconds since 1970.
    """

    epoch: int
    range: Offsets
    batch: pa.Table
    decoded: Decoded
    result: EpochResult
    changes: list[DecodedChanges]
    ts: int


class EpochRunner:
    """Runs batches one after the other.

    Args:
        parts: What an epoch passes through.
        resume: Where an earlier process stopped.
    """

    def __init__(self, parts: Parts, resume: Resume) -> None:
        self._parts = parts
        self._next = resume.before
        self._published = resume.published
        self._previous = resume.previous

    @property
    def position(self) -> Offsets | None:
        """Input range of the last finished epoch, None before the first; any thread may ask."""
        return self._previous

    @property
    def next(self) -> int:
        """The epoch that `run` expects."""
        return self._next

    def run(self, batch: pa.Table, epoch: int) -> None:
        """Run one batch through all durable steps.

        Args:
            batch: Messages with the columns of `source.COLUMNS`, in any order.
            epoch: Spark's batch id.

        Raises:
            StreamReasonerError: The batch failed; the process must end and may be restarted.
        """
        evaluated = self._evaluate(offsets.in_order(batch), epoch)
        self._store(evaluated)
        self._publish(evaluated)
        # 3. Return: Spark writes its commit log and plans the next batch.
        self._previous, self._next = evaluated.range, epoch + 1
        self._parts.tables.maintain_if_due()

    def _evaluate(self, batch: pa.Table, epoch: int) -> Evaluated:
        parts = self._parts
        current = parts.checkpoint.range(epoch)
        if self._previous is not None:
            offsets.check_follows(epoch, self._previous, current)
        offsets.check_within(epoch, batch, current)
        with self._timed("decode"):
            decoded = parts.codec.decode(batch)
        with self._timed("evaluate"):
            result = parts.engine.apply(epoch, decoded.updates)
        parts.observer.epoch_evaluated(result)
        if decoded.event_time is not None:
            parts.observer.event_time(decoded.event_time)
        selected = result.closure if parts.selection.closure else result.derived
        wanted = parts.selection.predicates
        changes = output.sort_changes(
            [one for one in selected if not wanted or one.predicate in wanted]
        )
        return Evaluated(
            epoch=epoch,
            range=current,
            batch=batch,
            decoded=decoded,
            result=result,
            changes=output.decode_changes(changes, parts.dictionary),
            ts=decoded.event_time or 0,
        )

    def _store(self, evaluated: Evaluated) -> None:
        """Durable step 1: append to the tables that do not have the epoch."""
        parts = self._parts
        with self._timed("store"):
            parts.tables.commit(
                evaluated.epoch,
                timestamps.instant(evaluated.ts),
                # The tables know which terms they have; a view of all of them costs nothing.
                (0, parts.dictionary.terms(0, len(parts.dictionary))),
                evaluated.result.trace,
                evaluated.changes,
                evaluated.range,
            )

    def _publish(self, evaluated: Evaluated) -> None:
        """Durable step 2: one transaction, unless the marker says that it was committed."""
        parts, epoch = self._parts, evaluated.epoch
        if epoch <= self._published:
            return
        with self._timed("publish"):
            parts.sink.publish(
                Publication(
                    changes=[
                        output.encode_changes(one, evaluated.ts, epoch) for one in evaluated.changes
                    ],
                    headers=output.headers(epoch),
                    dead_letters=dead_letters(evaluated.batch, evaluated.decoded.rejected),
                    marker=Marker(epoch, evaluated.range, parts.program_hash),
                )
            )
        self._published = epoch
        latencies = time.time() - append_milliseconds(evaluated.batch).astype(np.float64) / 1000
        parts.observer.published(
            sum(len(multiplicity) for _, _, multiplicity in evaluated.changes),
            Counter(one.reason.value for one in evaluated.decoded.rejected),
            latencies,
        )

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self._parts.observer.stage(stage, time.perf_counter() - start)
