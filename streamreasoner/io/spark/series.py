"""What differs between the series of Spark. Invariant: nothing else asks which Spark is installed.

A series has jars of its own, and moves some of what Spark offers to itself only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyspark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from py4j.java_gateway import JavaObject, JVMView

# Not every fix of Spark has all jars of the connector; one that does serves its series.
CONNECTORS = {"4.0": "4.0.0", "4.1": "4.1.1", "4.2": "4.2.0"}
"""The version of the Kafka connector for each series."""
SERIES = pyspark.__version__.rpartition(".")[0]
"""The series that is installed."""
CONNECTOR = (
    f"org.apache.spark:spark-sql-kafka-0-10_2.13:{CONNECTORS.get(SERIES, pyspark.__version__)}"
)
"""The module that reads from Kafka."""

_STREAMING = "org.apache.spark.sql.execution.streaming"
CHECKPOINT_FILES = (
    f"{_STREAMING}.FileSystemBasedCheckpointFileManager"
    if SERIES == "4.0"
    else f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""The class that writes checkpoints by renaming files."""


def tasks(jvm: JVMView, partitions: Iterable[JavaObject]) -> JavaObject:
    """What a `DataSourceRDD` reads, a partition a task: a sequence of sequences, or of options."""
    sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq
    single = (lambda each: sequence([each])) if SERIES in {"4.0", "4.1"} else jvm.scala.Option.apply
    return sequence([single(partition) for partition in partitions])
