"""Messages of a running query: of the batch that is planned, and before they are planned.

Few messages of a planned batch are read in the driver, from the plan that Spark has made of it. The
DataFrame of the batch would be planned once more and run as a job, and its rows be sent by a server
of their own (docs/decisions/0088-few-messages-are-read-without-a-job.md).

For messages that are not planned yet, Spark's data source for the stream is asked what Spark itself
asks: how far its topics reach, the partitions of a range, and a reader for them. The reader has the
options and the clients of the query. A DataFrame of its own for each range would cost half as much
as reading it, and need clients of its own (docs/decisions/0054-a-backlog-is-read-ahead.md).
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.java_gateway import quiet_shutdown
from py4j.protocol import Py4JError
from pyspark.sql.classic.dataframe import DataFrame

from streamreasoner.io.spark.series import tasks
from streamreasoner.io.spark.session import MOST_COLLECTED
from streamreasoner.io.spark.source import COLUMNS

if TYPE_CHECKING:
    from py4j.clientserver import ClientServerConnection
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from streamreasoner.io.spark.offsets import Ends
    from streamreasoner.state.record import Offsets

FEW = 100
"""Messages that are read in the driver at most: more are cheaper to read and convert in tasks."""
# Py4J sends bytes as text: rows are split into messages of Arrow of about this size.
_SENT_BYTES = 4 * 1024 * 1024
# In UTC, with names that differ, and 32 bits for the offsets of texts.
_ARROW = ("UTC", True, False)
# Partitions that are read at a time: a reader mostly waits for the broker.
_READERS = 4


class JavaThreads(ThreadPoolExecutor):
    """Threads that call Java, and their connections, which Py4J would leave open.

    Args:
        spark: The session.
        count: How many there are at most.
        name: What their names begin with.
    """

    def __init__(self, spark: SparkSession, count: int, name: str) -> None:
        self._jvm: Any = spark._jvm  # noqa: SLF001 - PySpark exposes no connections
        self._connections: list[ClientServerConnection] = []
        self._closed = False
        super().__init__(count, name, self._connect)

    def close(self) -> None:
        """Let no thread begin anything more, and close their connections; for any thread."""
        self._closed = True
        self.shutdown(wait=False, cancel_futures=True)
        for connection in self._connections:
            # Closing waits for a thread that reads an answer, and not every answer comes: Spark
            # forgets what it was to send to a process that was paused for a quarter of a minute.
            # Py4J must not ask for it again.
            connection.initiated_from_client = False
            quiet_shutdown(connection.socket)
            connection.close()

    def _connect(self) -> None:
        # A thread may begin when others have done its work, and all are closed.
        if self._closed:
            return
        # Any call connects a thread.
        self._jvm.java.lang.Thread.currentThread()
        self._connections.append(self._jvm._gateway_client.get_thread_connection())  # noqa: SLF001
        if self._closed:
            self.close()


class PlannedRows:
    """Reads batches of a query in the driver, as they are planned; only within `foreachBatch`.

    Args:
        spark: The session.
        query: The query.

    Raises:
        Py4JError, TypeError: This version of Spark has no such plan; of every method.
    """

    def __init__(self, spark: SparkSession, query: StreamingQuery) -> None:
        jvm: Any = spark._jvm  # noqa: SLF001 - PySpark exposes no plan
        packages = jvm.org.apache.spark
        self._execution = query._jsq.streamingQuery()  # noqa: SLF001
        self._contexts = getattr(getattr(packages, "TaskContext$"), "MODULE$")
        self._new_context, self._metrics = packages.TaskContextImpl, packages.executor.TaskMetrics
        self._properties = jvm.java.util.Properties()
        self._resources = packages.api.python.PythonUtils.toScalaMap({})
        self._no_error = jvm.scala.Option.empty()
        converters = getattr(packages.sql.execution.arrow, "ArrowConverters$")
        self._converters = getattr(converters, "MODULE$")
        conf = spark._jsc.sc().conf()  # noqa: SLF001
        self._most_bytes: int = conf.getSizeAsBytes(MOST_COLLECTED, "0")
        self._readers = JavaThreads(spark, _READERS, "read-few")

    def read(self) -> pa.Table | None:
        """The messages of the current batch, with the columns of `COLUMNS`.

        Returns:
            None if it has no message, or more bytes than may be collected.

        Raises:
            Py4JJavaError, PySparkException: They cannot be read.
        """
        execution = self._execution.lastExecution()
        rows, schema = execution.toRdd(), execution.executedPlan().schema()
        read: list[pa.Table] = []
        parts = self._readers.map(
            lambda part: self._part(rows, part, schema, read), rows.partitions()
        )
        tables = [table for part in parts for table in part]
        return pa.concat_tables(tables) if tables and not self._exceeds(read) else None

    def close(self) -> None:
        """Stop reading; for any thread, once no batch runs."""
        self._readers.close()

    def _part(
        self, rows: JavaObject, part: JavaObject, schema: JavaObject, read: list[pa.Table]
    ) -> list[pa.Table]:
        """The messages of one partition, read by this thread as a task would; adds to *read*."""
        context = self._context(part.index())
        self._contexts.setTaskContext(context)
        try:
            found = self._converters.toBatchWithSchemaIterator(
                rows.iterator(part, context), schema, FEW, _SENT_BYTES, *_ARROW
            )
            tables = []
            while not self._exceeds(read) and found.hasNext():
                tables.append(pa.ipc.open_stream(found.next()).read_all())
                read.append(tables[-1])
        except BaseException:
            # What it has leaked follows from the error, and must not hide it.
            with suppress(Py4JError):
                self._end(context)
            raise
        self._end(context)
        return tables

    def _end(self, context: JavaObject) -> None:
        """End a task: what it has registered for its end gives its Kafka client back."""
        try:
            context.markTaskCompleted(self._no_error)
        finally:
            self._contexts.unset()

    def _exceeds(self, tables: list[pa.Table]) -> bool:
        size: int = sum(table.nbytes for table in tables)
        return 0 < self._most_bytes < size

    def _context(self, index: int) -> JavaObject:
        """What a task has, but for the memory and the metrics of an executor."""
        stage, attempt, partitions, cpus = 0, 0, 1, 1
        return self._new_context(
            *(stage, attempt, index, index, attempt, partitions),
            *(None, self._properties, None),
            *(self._metrics.empty(), cpus, self._resources),
        )


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
        rows = packages.sql.execution.datasources.v2.DataSourceRDD(
            context._jsc.sc(),  # noqa: SLF001
            tasks(self._spark._jvm, self._source.planInputPartitions(first, after)),  # noqa: SLF001
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
