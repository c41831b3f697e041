"""The Kafka source of a running query: what it knows, and messages before they are planned.

Spark's data source for the stream is asked what Spark itself asks: how far its topics reach, the
partitions of a range, and a reader for them. The reader has the options and the clients of the
query. A DataFrame of its own for each range would cost half as much as reading it, and need clients
of its own (docs/decisions/0054-a-backlog-is-read-ahead.md).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql.classic.dataframe import DataFrame

from streamreasoner.io.spark.source import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from streamreasoner.io.spark.offsets import Ends
    from streamreasoner.state.record import Offsets


class RunningSource:
    """The source of one query.

    Args:
        spark: The session.
        query: The query.

    Raises:
        Py4JError, TypeError: This version of Spark has no such source; of every method.
    """

    def __init__(self, spark: SparkSession, query: StreamingQuery) -> None:
        self._spark = spark
        self._spark_packages = spark._jvm.org.apache.spark  # type: ignore[union-attr]  # noqa: SLF001 - PySpark exposes no sources
        # The query has one source.
        self._source = query._jsq.streamingQuery().uniqueSources().keys().head()  # noqa: SLF001

    def latest(self) -> Ends:
        """The ends of the topics as they were when Spark planned the current batch."""
        ends: Ends = json.loads(self._source.reportLatestOffset().json())
        return ends

    def read(self, offsets: Offsets) -> pa.Table:
        """The messages of a range, with the columns of `COLUMNS`.

        Args:
            offsets: topic -> partition -> [first, next].

        Raises:
            PySparkException: They cannot be read.
        """
        packages, context = self._spark_packages, self._spark.sparkContext
        python = packages.api.python.PythonUtils
        first, after = (self._offset(_side(offsets, side)) for side in (0, 1))
        tasks = [
            python.toSeq([partition])
            for partition in self._source.planInputPartitions(first, after)
        ]
        rows = packages.sql.execution.datasources.v2.DataSourceRDD(
            context._jsc.sc(),  # noqa: SLF001
            python.toSeq(tasks),
            self._source.createReaderFactory(),
            False,  # noqa: FBT003 - rows, not columns
            python.toScalaMap({}),
        )
        schema = packages.sql.kafka010.KafkaRecordToRowConverter.kafkaSchema(True)  # noqa: FBT003 - with headers
        frame = self._spark._jsparkSession.internalCreateDataFrame(rows, schema, False)  # noqa: FBT003, SLF001 - no stream
        return DataFrame(frame, self._spark).toArrow().select(COLUMNS)

    def _offset(self, ends: Ends) -> JavaObject:
        return self._source.deserializeOffset(json.dumps(ends))


def _side(offsets: Offsets, side: int) -> Ends:
    """The first offsets of a range, or the ones after the last."""
    return {
        topic: {partition: bounds[side] for partition, bounds in partitions.items()}
        for topic, partitions in offsets.items()
    }
