"""Batches of a query as Java has them. Invariant: Java keeps nothing of a query that has ended.

PySpark's own `foreachBatch` makes a session and a DataFrame of each batch, and its function lives
as long as the JVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.java_gateway import ensure_callback_server_started

if TYPE_CHECKING:
    from collections.abc import Callable
    from weakref import WeakMethod

    from py4j.java_gateway import JavaObject
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class StopRequestedError(Exception):
    """Ends a query between two batches."""


class _Forward:
    """A function for Py4J, which keeps it for as long as the JVM lives.

    The JVM of spark-submit outlives the query, and the query has the whole state.
    """

    def __init__(self, on_batch: WeakMethod[Callable[[JavaObject, int], None]]) -> None:
        self._on_batch = on_batch

    def call(self, frame: JavaObject, epoch: int) -> None:
        """Pass a batch on; called by Spark."""
        method = self._on_batch()
        if method is None:
            raise StopRequestedError
        method(frame, epoch)

    class Java:
        """Its type in Java."""

        implements = (
            "org.apache.spark.sql.execution.streaming.sources.PythonForeachBatchFunction",
        )


def for_each_batch(
    writer: DataStreamWriter, on_batch: WeakMethod[Callable[[JavaObject, int], None]]
) -> None:
    """`DataStreamWriter.foreachBatch`, which makes a session and a DataFrame of each batch."""
    context = writer._spark.sparkContext  # noqa: SLF001 - PySpark exposes no writer of Java
    sources = context._jvm.org.apache.spark.sql.execution.streaming.sources  # type: ignore[union-attr]  # noqa: SLF001
    sources.PythonForeachBatchHelper.callForeachBatch(writer._jwrite, _Forward(on_batch))  # noqa: SLF001
    ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]  # noqa: SLF001
