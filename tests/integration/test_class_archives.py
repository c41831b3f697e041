"""Processes that stop leave archives of Java's classes, from which later ones start.

All tests begin with this one: without the archives, starts take up to five times the processor
time.
"""

from __future__ import annotations

from pipelines import eventually, new_case, produce
from recording import next_launch
from spark_jvm import MARKS_OF_AN_OWN_JVM, spark_session

from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.spark import session
from streamreasoner.io.spark.internals.running_source import PlannedRows
from streamreasoner.io.spark.source import read_stream

pytestmark = MARKS_OF_AN_OWN_JVM


def test_later_starts_need_not_record(tmp_path, monkeypatch):
    """When a Spark that has read from Kafka has stopped, unless another process records now."""
    # A busy machine takes minutes to write the archive, which is more than users would wait for.
    monkeypatch.setattr(session, "_EXIT_SECONDS", 900.0)
    for name in ("kafka", "spark", "later"):
        (tmp_path / name).mkdir()
    with Broker(tmp_path / "kafka") as broker, spark_session(tmp_path / "spark") as spark:
        read(new_case(broker, tmp_path / "case", ""), spark)
    with next_launch(tmp_path / "later") as how:
        assert not how.class_data.recording


def read(case, spark):
    """Read some batches as pipelines do: the first from its frame, others from their plans."""
    lengths, started = [], []

    def on_batch(frame, epoch):
        del epoch
        planned = [PlannedRows(spark, query).read() for query in started]
        lengths.extend(map(len, planned or [frame.toArrow()]))

    writer = read_stream(spark, case.kafka, {}, None, 10).writeStream.foreachBatch(on_batch)
    checkpoint = f"file:{case.directory}/log"
    query = writer.option("checkpointLocation", checkpoint).start()
    try:
        for sent in range(1, 4):
            produce(case, [b"{}"])
            eventually(lambda: sum(lengths), sent)
            started[:] = [query]
    finally:
        query.stop()
