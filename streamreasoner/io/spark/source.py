"""The input as a streaming DataFrame. Invariant: lost or expired input fails the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.config.kafka import read_topics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from streamreasoner.config.kafka import KafkaConfig

MOST_POLLED = 500
"""Messages that a task takes from Kafka's client at a time, the client's own default.

The client bounds what it fetches before it is decompressed: 1 MiB of a partition may be a thousand
times as much. Spark asks for the ends of a partition at each poll, so fewer cost time.
"""
MAX_POLL_RECORDS = "max.poll.records"

_PATIENCE_MS = 600_000
_CLIENT = {
    "isolation.level": "read_committed",
    # How long a broker holds an empty fetch, 500 by default: a lower bound on latency. A client
    # fetches ahead, and Spark's next request, how far a partition reaches, waits behind that.
    "fetch.max.wait.ms": "1",
    MAX_POLL_RECORDS: str(MOST_POLLED),
    # The admin client waits for an answer up to the timeout below, even on a half-open connection.
    # Its requests for metadata find that out: they are made at this age, and have 30 seconds.
    "metadata.max.age.ms": "60000",
    # How long the query waits for a broker that is away, three times; then it ends.
    "default.api.timeout.ms": str(_PATIENCE_MS),
}
COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


def read_stream(
    spark: SparkSession,
    kafka: KafkaConfig,
    security: Mapping[str, str],
    control_topic: str | None,
    max_offsets_per_trigger: int,
) -> DataFrame:
    """Messages of the input topics and the control topic, with the columns of `COLUMNS`.

    Args:
        spark: The session.
        kafka: Cluster, topics and options.
        security: Options for encryption and login, under their Java names.
        control_topic: Topic of control messages, None if there is none.
        max_offsets_per_trigger: Most messages in a batch, until the limit is changed.
    """
    topics = read_topics(kafka, control_topic)
    client = {**_CLIENT, **security, **kafka.options, **kafka.consumer_options}
    reader = (
        spark.readStream.format("kafka")
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", kafka.starting_offsets)
        .option("failOnDataLoss", "true")
        .option("includeHeaders", "true")
        .option("kafkaConsumer.pollTimeoutMs", str(_PATIENCE_MS))
        .option("maxOffsetsPerTrigger", str(max_offsets_per_trigger))
        .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    )
    for name, value in client.items():
        reader = reader.option(f"kafka.{name}", value)
    return reader.load().select(*COLUMNS)
