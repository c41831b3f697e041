"""Reads the next batch of a backlog while the current one is evaluated, stored and published.

Invariant: a batch has exactly the messages that Spark planned for it, read ahead or not.

Spark plans a batch after the one before is committed. While there is a backlog, its limit decides
where the next batch ends, so that is known before, but for the growth of the backlog, which shifts
the shares of the partitions. So a little more is read than the limit, and what is not planned is
kept for the batch after (docs/decisions/0054-a-backlog-is-read-ahead.md).
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from streamreasoner.io.spark.buffer import Buffer
from streamreasoner.io.spark.offsets import following, size
from streamreasoner.io.spark.running_source import JavaThreads, RunningSource

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from streamreasoner.state.record import Offsets

# The part of a limit that is read beyond it.
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
        self._reading: Future[Buffer | None] | None = None
        self._kept: Buffer | None = None

    @property
    def is_reading(self) -> bool:
        """Whether the next batch is read, or was and is not taken yet."""
        return self._reading is not None

    def begin(self, query: StreamingQuery, current: Offsets, limit: int) -> None:
        """Begin to read the next batch, if it will have as many messages as it may.

        Args:
            query: The query, whose thread waits for the current batch.
            current: The range of the current batch.
            limit: Most messages in the next batch.
        """
        kept, self._kept = self._kept, None
        try:
            source = RunningSource(self._spark, query)
            wanted = following(current, source.latest(), limit + int(limit * _SURPLUS))
        except (Py4JError, TypeError) as error:
            _log.debug("The range of the next batch is unknown.", exc_info=error)
            return
        if size(wanted) < limit:
            return
        lacking = None if kept is None else kept.lacks(wanted)
        if lacking is None:
            kept, lacking = None, wanted
        self._reading = self._executor.submit(self._read, source, lacking, kept)

    def take(self, planned: Offsets) -> pa.Table | None:
        """The messages of a planned batch; None if the query must read them.

        Args:
            planned: The range of the batch.
        """
        reading, self._reading = self._reading, None
        buffer = None if reading is None else reading.result()
        found = None if buffer is None else buffer.split(planned)
        if found is None:
            return None
        messages, self._kept = found
        return messages

    def close(self) -> None:
        """Stop reading; for any thread, once no batch runs."""
        with suppress(Py4JError, OSError):
            self._spark.sparkContext.cancelJobsWithTag(_TAG)
        self._executor.close()

    def _read(self, source: RunningSource, lacking: Offsets, kept: Buffer | None) -> Buffer | None:
        try:
            self._spark.sparkContext.addJobTag(_TAG)
            read = Buffer.of(lacking, source.read(lacking))
        except Exception as error:  # noqa: BLE001 - the query reads again, and says what is wrong
            _log.debug("Reading ahead failed.", exc_info=error)
            return None
        return read if kept is None else kept.then(read)
