"""The most messages in the next batch of a running query.

Invariant: a limit that cannot be set leaves the one that the query was started with.

Spark reads `maxOffsetsPerTrigger` once for each query, into a map from the source to its limit that
it looks up when it plans a batch. Between two batches the map is replaced
(docs/decisions/0049-batches-follow-a-target-time.md).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_log = logging.getLogger(__name__)


class ReadLimit:
    """The limit of one query; set it within a batch, for the next one.

    Args:
        spark: The session.
        messages: The limit that the query is started with.
    """

    def __init__(self, spark: SparkSession, messages: int) -> None:
        self._package = spark._jvm.org.apache.spark.sql.connector.read.streaming  # type: ignore[union-attr]  # noqa: SLF001 - PySpark exposes no limit
        self._messages = messages
        self._is_fixed = False

    @property
    def messages(self) -> int:
        """The limit in effect from the next batch on."""
        return self._messages

    def set(self, query: StreamingQuery, messages: int) -> None:
        """Change the limit; logs a warning, once, if this Spark does not let it."""
        if self._is_fixed or messages == self._messages:
            return
        limit = self._package.ReadLimit.maxRows(messages)
        try:
            execution = query._jsq.streamingQuery()  # noqa: SLF001
            sources = execution.uniqueSources()
            change = getattr(execution, "uniqueSources_$eq")
            # The query has one source.
            change(sources.updated(sources.keys().head(), limit))
        except (Py4JError, TypeError) as error:
            self._is_fixed = True
            _log.debug("The limit of the query cannot be changed.", exc_info=error)
            _log.warning(
                "This version of Spark does not let a running query change the size of its "
                "batches. All batches have at most %d messages, so that the longest ones fit "
                "memory. Use the version of Spark that this package requires, or lower "
                "pipeline.max_message_bytes to the length of your messages.",
                self._messages,
            )
        else:
            self._messages = messages
