"""The meter reports the files, bytes and jobs of queries of known size."""

from __future__ import annotations

from spark_jvm import MARKS, spark_session

from benchmarks.spark_meter import SETTINGS, Cost, Meter

pytestmark = MARKS
FILES = 4
ROWS = 200_000


def test_a_query_costs_what_it_reads(tmp_path):
    """Files are those of the partitions that are asked for, and bytes are those of the files.

    Each file's end is read more than once, and other columns are not, so bytes are not exact.
    """
    state = tmp_path / "state"
    with spark_session(tmp_path, SETTINGS) as spark:
        meter = Meter(spark, state)
        rows = spark.range(ROWS).selectExpr("id", f"id % {FILES} AS part", "hash(id) AS other")
        written = meter.cost(
            lambda: (
                rows.repartition("part").write.format("delta").partitionBy("part").save(str(state))
            )
        )
        sizes = {path.parent.name: path.stat().st_size for path in state.glob("part=*/*.parquet")}
        table = spark.read.format("delta").load(str(state))
        every = meter.cost(lambda: table.write.format("noop").mode("overwrite").save())
        part = table.filter("part = 1")
        single = meter.cost(lambda: part.write.format("noop").mode("overwrite").save())
        named = spark.read.parquet(*map(str, state.glob("part=2/*.parquet")))
        direct = meter.cost(named.collect)
        grouped = meter.cost(lambda: table.groupBy("other").count().collect())
        nothing = meter.cost(lambda: None)

    assert len(sizes) == FILES
    assert written.written >= sum(sizes.values())
    assert written.shuffled > 0
    assert (every.files, single.files, direct.files) == (FILES, 1, 1)
    assert sum(sizes.values()) <= every.read < 1.5 * sum(sizes.values())
    assert sizes["part=1"] <= single.read < 1.5 * sizes["part=1"]
    assert grouped.shuffled > 0
    assert grouped.tasks > 1
    assert (nothing.jobs, nothing.tasks, nothing.read, nothing.files) == (0, 0, 0, 0)
    assert nothing + nothing == Cost(2 * nothing.seconds, processor=2 * nothing.processor)
