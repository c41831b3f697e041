"""Reads the next batch of a backlog while the current one is evaluated, stored and published.

Invariant: a batch has exactly the messages that Spark planned for it, read ahead or not.

Spark plans a batch after the one before is committed, by a limit that follows the time of that one.
So as many messages are read as the next batch may have, whatever its limit will be. What is not
planned is kept for the batch after, and what is planned in addition, since the shares of partitions
shift while a backlog grows, is read then (docs/decisions/0054-a-backlog-is-read-ahead.md).
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from streamreasoner.io.spark.buffer import Buffer
from streamreasoner.io.spark.internals.running_source import JavaThreads, RunningSource
from streamreasoner.io.spark.offsets import following, size
from streamreasoner.io.spark.session import has_ended

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from streamreasoner.state.record import Offsets

# The part of a limit that is read beyond it: shares of partitions that shift a little cost nothing.
_SURPLUS = 1 / 64
_TAG = "streamreasoner-read-ahead"
_log = logging.getLogger(__name__)


class ReadAhead:
    """Reads at most one batch ahead; for one thread.

    Args:
        spark: The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._executor = JavaThreads(spark, 1, "read-ahead")
        self._source: RunningSource | None = None
        self._reading: Future[Buffer | None] | None = None
        self._kept: Buffer | None = None

    @property
    def is_reading(self) -> bool:
        """Whether the next batch is read, or was and is not taken yet."""
        return self._reading is not None

    def begin(self, query: StreamingQuery, current: Offsets, limit: int, most: int) -> None:
        """Begin to read the next batch, if this one and the next have what they may have.

        Args:
            query: The query, whose thread waits for the current batch.
            current: The range of the current batch.
            limit: Most messages in the current batch.
            most: Most messages in the next batch.
        """
        kept, self._kept = self._kept, None
        # One that is not full has left no backlog, and should not pay for calls of Java.
        if 2 * size(current) < limit:
            return
        try:
            self._source = RunningSource(self._spark, query)
            wanted = following(current, self._source.latest(), most + int(most * _SURPLUS))
        except (Py4JError, TypeError) as error:
            _log.debug("The range of the next batch is unknown.", exc_info=error)
            return
        if size(wanted) >= limit:
            self._reading = self._executor.submit(self._read, wanted, kept)

    def take(self, planned: Offsets) -> pa.Table | None:
        """The messages of a planned batch; None if the query must read them.

        Args:
            planned: The range of the batch.
        """
        reading, self._reading = self._reading, None
        buffer = None if reading is None else reading.result()
        if buffer is not None:
            buffer = self._executor.submit(self._read, planned, buffer).result()
        found = None if buffer is None else buffer.split(planned)
        if found is None:
            return None
        messages, self._kept = found
        return messages

    def close(self) -> None:
        """Stop reading; for any thread, once no batch runs."""
        with suppress(Py4JError, OSError):
            if not has_ended(self._spark):
                self._spark.sparkContext.cancelJobsWithTag(_TAG)
        self._executor.close()

    def _read(self, wanted: Offsets, kept: Buffer | None) -> Buffer | None:
        """A range, in addition to what was kept if that begins where it does; None if it fails."""
        lacking = None if kept is None else kept.lacks(wanted)
        if kept is None or lacking is None:
            kept, lacking = None, wanted
        elif not size(lacking):
            return kept
        else:
            _log.debug("%d messages are read in addition to those that were kept.", size(lacking))
        try:
            self._spark.sparkContext.addJobTag(_TAG)
            assert self._source is not None  # noqa: S101 - set by begin
            read = Buffer.of(lacking, self._source.read(lacking))
        except Exception as error:  # noqa: BLE001 - the query reads again, and says what is wrong
            _log.debug("Reading ahead failed.", exc_info=error)
            return None
        return read if kept is None else kept.then(read)
