"""Spark alone: a streaming query that reads a topic, hands each batch to Python, and no more.

    python spark_stream.py SERVERS TOPIC MESSAGES CHECKPOINT LOG JAR...

Invariant: it uses PySpark's public interface and the defaults of Spark and of Kafka's client, but
for two threads, no page and no progress bar, and the most messages in a batch. Each batch is an
Arrow table, and a line of JSON in the log, as those that `benchmarks/pipeline.py` writes.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


def main() -> None:
    """Run until the process is ended."""
    servers, topic, messages, checkpoint, log, *jars = sys.argv[1:]
    builder = SparkSession.builder.master("local[2]").config("spark.jars", ",".join(jars))
    builder = builder.config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    stream = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .option("maxOffsetsPerTrigger", messages)
    )

    def take(frame: DataFrame, _: int) -> None:
        start = time.perf_counter()
        rows = len(frame.toArrow())
        seconds = time.perf_counter() - start
        line = {"rows": rows, "at": time.time(), "seconds": seconds, "stages": {"read": seconds}}
        file.write(json.dumps(line) + "\n")

    with Path(log).open("a", buffering=1) as file:
        frames = stream.load().select(*COLUMNS)
        query = frames.writeStream.option("checkpointLocation", f"file:{checkpoint}")
        query.foreachBatch(take).start().awaitTermination()


if __name__ == "__main__":
    main()
