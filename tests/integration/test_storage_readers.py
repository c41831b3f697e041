"""The tables read by other Delta implementations: delta-rs, DuckDB over it, and Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import duckdb
import pytest
from deltalake import DeltaTable
from storage_builders import APP, changes, commit_one, open_tables, restored, trace_rows

from streamreasoner.state import schemas
from streamreasoner.state.delta.table import Identity, Table
from streamreasoner.state.maintenance import maintain

SPARK_READER = """
import json, sys
from pyspark.sql import SparkSession
state, app = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.databricks.delta.snapshotPartitions", "1")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .getOrCreate()
)
trace = spark.read.format("delta").load(f"{state}/trace")
summed = (
    trace.where("epoch <= 30").groupBy("predicate", "a0", "a1", "a2", "iteration")
    .sum("multiplicity").where("`sum(multiplicity)` != 0")
)
changed = spark.read.format("delta").load(f"{state}/changes").orderBy("epoch")
row = (
    trace.where("epoch = 1").limit(1)
    .selectExpr("predicate", "100L a0", "a1", "a2", "iteration", "100L epoch", "multiplicity")
)
# The skip proves that Spark found the application's transaction in the log.
row.write.format("delta").mode("append").option("txnAppId", app).option("txnVersion", 7).save(
    f"{state}/trace"
)
result = {
    "trace": sorted(list(r) for r in summed.collect()),
    "changes": [[r.epoch, r.ts.timestamp(), r.args, r.multiplicity] for r in changed.collect()],
    "rows": spark.read.format("delta").load(f"{state}/trace").count(),
}
spark.sql(f"optimize delta.`{state}/terms`")
print("RESULT" + json.dumps(result))
spark.stop()
"""

EPOCHS = 60


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """Sixty epochs that assert and retract, some of them merged, with a checkpoint in between."""
    directory = tmp_path_factory.mktemp("state")
    with open_tables(directory, trace_epochs=20) as tables:
        for epoch in range(EPOCHS):
            rows = [((epoch, 1, 2), 0, 1)]
            if epoch % 3 == 2:
                rows.append(((epoch - 1, 1, 2), 0, -1))
            term = f"t{epoch}"
            commit_one(
                tables,
                epoch,
                trace=[trace_rows("triple", *rows), trace_rows("edge", ((epoch, 3), 1, 2))],
                new_terms=[term],
                changed=[changes("triple", ((term, term, term), 1))],
            )
            if epoch == 29:
                for name in schemas.NAMES:
                    table = Table(directory / name, name, Identity(APP, schemas.LEAST_ARGUMENTS))
                    maintain.merge(table, maintain.mergeable(table.files()), 5)
                    table.save()
    return directory


def _present(before):
    retracted = {epoch - 1 for epoch in range(before) if epoch % 3 == 2}
    return [epoch for epoch in range(before) if epoch not in retracted]


def test_duckdb_travels_in_time(state):
    """SQL over the tables: the facts after epoch 30, decoded through `terms`."""
    trace = DeltaTable(state / "trace").to_pyarrow_dataset()
    terms = DeltaTable(state / "terms").to_pyarrow_dataset()
    with duckdb.connect() as connection:
        connection.register("trace", trace)
        connection.register("terms", terms)
        rows = connection.execute(
            """
            select term from (
                select a0 from trace where predicate = 'triple' and epoch <= 30
                group by a0, a1, a2 having sum(multiplicity) > 0
            ) join terms on id = a0 order by id
            """
        ).fetchall()

    assert rows == [(f"<http://example.org/t{n}>",) for n in _present(31)]


@pytest.mark.usefixtures("joined_jvm")
def test_spark_reads_what_was_written(state, tmp_path):
    """Delta on Spark reads the same state and changes, and honours the application's epochs."""
    reader = subprocess.run(
        [sys.executable, "-c", SPARK_READER, str(state), APP],
        env=os.environ | {"TZ": "UTC"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert reader.returncode == 0, reader.stderr[-2000:]
    result = json.loads(reader.stdout.split("RESULT")[1])

    edges = [["edge", epoch, 3, None, 1, 2] for epoch in range(31)]
    triples = [["triple", epoch, 1, 2, 0, 1] for epoch in _present(31)]
    assert result["trace"] == edges + triples
    iri = "<http://example.org/t{}>".format
    assert [(epoch, args, sign) for epoch, _, args, sign in result["changes"]] == [
        (epoch, [iri(epoch)] * 3, 1) for epoch in range(EPOCHS)
    ]
    assert result["rows"] == DeltaTable(state / "trace").to_pyarrow_table().num_rows

    with open_tables(state) as tables:
        assert tables.version() == EPOCHS - 1
        commit_one(tables, EPOCHS, new_terms=["last"])
        dictionary = restored(tables, EPOCHS + 1)[1]
    assert len(dictionary) == EPOCHS + 1
