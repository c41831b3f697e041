"""One batch = one epoch: decode, evaluate, then the durable steps.

1. Append the epoch to the Delta tables, with the epoch as transaction version, and upload it.
2. Publish changes, violations, dead letters and the marker in one Kafka transaction.
3. Return, so that Spark commits the batch.

Invariant: a batch that runs again, after a crash at any point, leaves tables and topics as if it
had run once: evaluation is deterministic, step 1 skips tables that have the epoch, and step 2 is
skipped if the marker names the epoch.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.errors import BrokerUnavailableError, StateError
from streamreasoner.io.codec.envelope import append_milliseconds
from streamreasoner.io.codec.violations import encode_violations
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.kafka.sink import Publication
from streamreasoner.io.observer import timed
from streamreasoner.io.spark import offsets
from streamreasoner.pipeline import recovery
from streamreasoner.pipeline.recent.rejections import KEPT
from streamreasoner.state.record import EpochRecord
from streamreasoner.state.version import FORMAT, SEMANTICS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.io.codec.encode import ChangeEncoder
    from streamreasoner.io.formats.records.record import Schemas
    from streamreasoner.io.kafka.sink import Sink
    from streamreasoner.io.kafka.topic_ids import TopicIds
    from streamreasoner.io.observer import PipelineObserver
    from streamreasoner.io.spark.offsets import Checkpoint
    from streamreasoner.pipeline.evaluated import Evaluated
    from streamreasoner.pipeline.failing.last_resort import LastResort
    from streamreasoner.pipeline.pressure.outage import Outage
    from streamreasoner.pipeline.recovery import Resume
    from streamreasoner.pipeline.slots.evaluator import SlotEvaluator
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.state.record import Offsets
    from streamreasoner.state.tables import Tables


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """The components that an epoch passes through, in this order.

    Attributes:
        checkpoint: Gives the range of a batch.
        topics: Checks that the input topics are still those on record.
        schemas: Where the schemas of messages are.
        evaluation: Turns messages into changes.
        dictionary: Maps ids to terms.
        tables: Durable step 1.
        upload: Makes the state directory durable elsewhere.
        encoder: Writes the changes.
        sink: Durable step 2.
        marker: Reads the last marker on the progress topic.
        observer: Notified of every stage.
        outage: Waits while Kafka is away.
        semantics: Input topic to the semantics of its updates, if they are not a multiset.
    """

    checkpoint: Checkpoint
    topics: TopicIds
    schemas: Schemas
    evaluation: LastResort | SlotEvaluator
    dictionary: Dictionary
    tables: Tables
    upload: Callable[[], None]
    encoder: ChangeEncoder
    sink: Sink
    marker: Callable[[], EpochRecord | None]
    observer: PipelineObserver
    outage: Outage
    semantics: Mapping[str, str]


class EpochRunner:
    """Runs batches one after the other.

    Args:
        parts: The components that an epoch passes through.
        resume: Where an earlier process stopped.
    """

    def __init__(self, parts: Parts, resume: Resume) -> None:
        self._parts = parts
        self._next = resume.before
        self._published = resume.published
        self._previous = resume.previous

    @property
    def position(self) -> Offsets | None:
        """Input range of the last finished epoch, None before the first; thread-safe."""
        return self._previous

    def range(self, epoch: int) -> Offsets:
        """Input range of a batch that is planned."""
        return self._parts.checkpoint.range(epoch)

    @property
    def next(self) -> int:
        """The epoch that `run` expects."""
        return self._next

    def run(self, batch: pa.Table, epoch: int, keep_alive: Callable[[], None]) -> None:
        """Run one batch through all durable steps.

        Args:
            batch: Messages with the columns of `source.COLUMNS`, in any order.
            epoch: Spark's batch id.
            keep_alive: Called before each trial of a batch that fails.

        Raises:
            StreamReasonerError: The batch failed; the process must exit and may be restarted.
        """
        parts = self._parts
        # Request the ids after the batch was read; the answer arrives during evaluation.
        answer = parts.topics.ask()

        def confirm_topics() -> None:
            try:
                answer()
            except BrokerUnavailableError as error:
                parts.outage.outlast(error, parts.topics.check, keep_alive)

        batch = offsets.in_order(batch)
        try:
            current = self._checked_range(batch, epoch)
        except StateError:
            # A topic that was deleted and created again explains offsets that do not fit.
            confirm_topics()
            raise

        def before_trial() -> None:
            # Do not blame messages that came from a recreated topic.
            confirm_topics()
            keep_alive()

        # The next process has to find an epoch planned that ends this one.
        parts.upload()
        parts.schemas.begin(epoch)
        evaluated = parts.evaluation.evaluate(batch, epoch, current, before_trial)
        parts.schemas.keep()
        confirm_topics()
        self._finish(evaluated, current, append_milliseconds(batch), keep_alive)

    def load(self, epoch: int, evaluate: Callable[[], Evaluated]) -> None:
        """Run an epoch of a bootstrap, which has a range without messages, through all steps.

        Args:
            epoch: The epoch, which is planned.
            evaluate: Evaluates it.

        Raises:
            StreamReasonerError: It failed; the process must exit and may be restarted.
        """
        confirm_topics = self._parts.topics.ask()
        current = self._following_range(epoch)
        self._parts.upload()
        evaluated = evaluate()
        confirm_topics()
        # Nothing watches how long it takes.
        self._finish(evaluated, current, np.empty(0, np.int64), lambda: None)

    def _finish(
        self,
        evaluated: Evaluated,
        current: Offsets,
        appended: NDArray[np.int64],
        keep_alive: Callable[[], None],
    ) -> None:
        """The durable steps of an evaluated epoch, whose messages have these times."""
        parts, epoch = self._parts, evaluated.epoch
        record = EpochRecord(
            epoch,
            current,
            evaluated.program.hash,
            FORMAT,
            SEMANTICS,
            evaluated.frontier,
            dict(parts.semantics),
            parts.encoder.layout,
            parts.encoder.holds,
            evaluated.slots,
            evaluated.encoded,
        )
        self._store(evaluated, record)
        self._publish(evaluated, record, appended, keep_alive)
        # 3. Return: Spark writes its commit log and plans the next batch.
        self._previous, self._next = current, epoch + 1
        if evaluated.new_program is not None:
            before, after = evaluated.before.hash, evaluated.program.hash
            if before == after:
                _log.info(
                    "The program %s has other declarations from epoch %d on.", after[:12], epoch
                )
            else:
                _log.info(
                    "The program %s is in effect from epoch %d on, in place of %s.",
                    after[:12],
                    epoch,
                    before[:12],
                )
            parts.observer.program(evaluated.program.hash)
        parts.tables.maintain_if_due()

    def check_topics(self) -> None:
        """Raise an error if a topic problem may be why Spark cannot read.

        Raises:
            StateError: A topic was deleted or created again.
            BrokerError: Kafka does not answer.
        """
        self._parts.topics.check()

    def _checked_range(self, batch: pa.Table, epoch: int) -> Offsets:
        """The range of a batch; checks that it follows the one before and holds every row."""
        current = self._following_range(epoch)
        offsets.check_within(epoch, batch, current)
        return current

    def _following_range(self, epoch: int) -> Offsets:
        current = self.range(epoch)
        if self._previous is not None:
            offsets.check_follows(epoch, self._previous, current)
        return current

    def _store(self, evaluated: Evaluated, record: EpochRecord) -> None:
        """Durable step 1: append to the tables that do not have the epoch."""
        parts = self._parts
        stored = parts.tables.terms_stored
        with timed(parts.observer, "store"):
            parts.tables.commit(
                record,
                (stored, parts.dictionary.terms(stored, len(parts.dictionary))),
                evaluated.trace,
                (
                    (timestamps.instant(each.ts), chain(each.changes, each.violations))
                    for each in evaluated.moments
                ),
                evaluated.new_program,
                evaluated.waiting,
            )
        parts.upload()

    def _publish(
        self,
        evaluated: Evaluated,
        record: EpochRecord,
        appended: NDArray[np.int64],
        keep_alive: Callable[[], None],
    ) -> None:
        """Durable step 2: one transaction, skipped if the marker records it as committed."""
        parts, epoch = self._parts, record.epoch
        if epoch <= self._published:
            return

        def again() -> int:
            # As a restart does: end the transaction, then read whether it was committed.
            parts.sink.reopen()
            if recovery.is_published(parts.marker(), record):
                return sum(part.updates for part in self._publication(evaluated, record).changes)
            return parts.sink.publish(self._publication(evaluated, record))

        with timed(parts.observer, "publish"):
            try:
                published = parts.sink.publish(self._publication(evaluated, record))
            except BrokerUnavailableError as error:
                published = parts.outage.outlast(error, again, keep_alive)
        self._published = epoch
        if evaluated.applied or evaluated.rejected_control:
            parts.observer.control_messages(evaluated.applied, evaluated.rejected_control)
        latencies = time.time() - appended.astype(np.float64) / 1000
        parts.observer.published(
            published,
            Counter(rejected.reason.value for rejected in evaluated.rejected),
            latencies,
        )
        if evaluated.rejected:
            parts.observer.dead_letters(evaluated.last_dead_letters(KEPT))

    def _publication(self, evaluated: Evaluated, record: EpochRecord) -> Publication:
        """What becomes visible with an epoch, for one attempt."""
        encoder, constraints = self._parts.encoder, evaluated.constraints
        return Publication(
            changes=chain.from_iterable(
                encoder.encode(changes, each.ts, each.number)
                for each in evaluated.moments
                for changes in each.changes
            ),
            violations=chain.from_iterable(
                encode_violations(changes, constraints, each.ts, each.number)
                for each in evaluated.moments
                for changes in each.violations
            ),
            dead_letters=evaluated.dead_letters(),
            marker=record,
        )
