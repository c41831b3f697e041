"""Messages of a running query: of the batch that is planned, and before they are planned.

Few messages of a planned batch are taken from the plan that Spark has made of it. The DataFrame of
the batch would be planned and run beside it, and its rows be sent by a server of their own
(docs/decisions/0074-a-small-batch-is-planned-once.md).

For messages that are not planned yet, Spark's data source for the stream is asked what Spark itself
asks: how far its topics reach, the partitions of a range, and a reader for them. The reader has the
options and the clients of the query. A DataFrame of its own for each range would cost half as much
as reading it, and need clients of its own (docs/decisions/0054-a-backlog-is-read-ahead.md).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.classic.dataframe import DataFrame

from streamreasoner.io.spark.source import COLUMNS

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from streamreasoner.io.spark.offsets import Ends
    from streamreasoner.state.record import Offsets

FEW = 100
"""Messages that are taken from a plan at most: more are cheaper to convert where they are read."""
# Py4J sends bytes as text: rows are split into messages of Arrow of about this size.
_SENT_BYTES = 4 * 1024 * 1024
_CONVERTERS = "org.apache.spark.sql.execution.arrow.ArrowConverters$"


class PlannedRows:
    """Reads batches of a query as Spark has planned them; only within `foreachBatch`.

    Args:
        spark: The session.
        query: The query.

    Raises:
        Py4JError, TypeError: This version of Spark has no such plan; of every method.
    """

    def __init__(self, spark: SparkSession, query: StreamingQuery) -> None:
        self._execution = query._jsq.streamingQuery()  # noqa: SLF001 - PySpark exposes no plan
        self._converters = getattr(getattr(spark._jvm, _CONVERTERS), "MODULE$")  # noqa: SLF001

    def read(self) -> pa.Table | None:
        """The messages of the current batch, with the columns of `COLUMNS`; None if it has none.

        Raises:
            PySparkException: They cannot be read.
        """
        plan = self._execution.lastExecution().executedPlan()
        schema, rows = plan.schema(), plan.executeCollectIterator()._2()  # noqa: SLF001 - Scala's name
        # In UTC, with names that differ, and 32 bits for the offsets of texts.
        flags = ("UTC", True, False)
        batches = self._converters.toBatchWithSchemaIterator(rows, schema, FEW, _SENT_BYTES, *flags)
        tables = []
        while batches.hasNext():
            tables.append(pa.ipc.open_stream(batches.next()).read_all())
        return pa.concat_tables(tables) if tables else None


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
