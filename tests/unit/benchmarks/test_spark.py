"""The Spark benchmark without Spark: its inputs are what they are called, its tables add up."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import harness, spark

COST = {"seconds": 2.0, "jobs": 9, "tasks": 20, "shuffled": 0, "written": 1024, "busy": 1.0}
COST |= {"processor": 1.0}


def run(size, facts, read):
    """Figures of a size, as they are measured."""
    kinds = (*spark.ONE, "10 random")
    return {
        "case": "lubm",
        "size": size,
        "title": f"LUBM({size})",
        "rows": facts // 2,
        "facts": facts,
        "held": facts,
        "terms": facts // 4,
        "dictionary": facts * 20,
        "load": {**COST, "read": facts, "files": 0, "changed": facts},
        "plain": {**COST, "seconds": 100.0, "read": facts, "files": 0},
        "columnar": 0.1,
        "state_rows": facts * 3,
        "largest": facts,
        "state_bytes": facts * 10,
        "state_files": 100,
        "equal": True,
        "epochs": [{**COST, "kind": k, "read": read, "files": 4, "changed": 1} for k in kinds],
    }


def test_tables_have_all_runs_and_go_on_to_sizes_that_were_not_measured():
    """One row for a load, one for an epoch; limits come in the order in which they are reached."""
    runs = [run(1, 1_000, 500), run(50, 50_000, 25_000)]

    loads, epochs, slopes, order, claims = spark.tables(runs)

    assert [row[0] for row in loads["rows"]] == ["LUBM(1)", "LUBM(50)"]
    assert len(epochs["rows"]) == 6
    assert dict(zip(slopes["header"], slopes["rows"][-2], strict=True)) == {
        "figure": "one row: KiB read",
        "at 1,000 facts": pytest.approx(500 / 1024),
        "at 50,000 facts": pytest.approx(25_000 / 1024),
        "slope, for a million facts": pytest.approx(500_000 / 1024),
        "at 1 billion": pytest.approx(500_000_000 / 1024),
        "at 10 billion": pytest.approx(5_000_000_000 / 1024),
    }
    reached = [row[1] for row in order["rows"]]
    assert reached == sorted(reached)
    # The dearest epoch and one row of each, and what the largest reads and gains for one row.
    assert [holds for _, holds in claims["rows"]] == [True, False, True, False, False, True]


@pytest.mark.parametrize(("read", "holds"), [(9_999, True), (10_001, False)])
def test_little_is_read_is_claimed_of_the_largest_size_only(read, holds):
    """Two percent of the state is the limit; other sizes claim their shares of plain Spark."""
    (epoch, one, load), largest = (spark.claims([run(size, 50_000, read)]) for size in (10, 50))

    assert (epoch[1], one[1], load[1]) == (True, False, True)
    assert [found for _, found in largest] == [True, False, holds, True]


@pytest.mark.parametrize(("share", "holds"), [(0.1, True), (1.5, True), (1.6, False)])
def test_the_dearest_epoch_is_claimed(share, holds):
    """In seconds of processor time, by those of plain Spark."""
    figures = run(1, 1_000, 10)
    figures["epochs"][-1]["processor"] = share
    for row in figures["epochs"][:-1]:
        row["processor"] = 0.1

    assert [found for _, found in spark.claims([figures])] == [holds, True]


@pytest.mark.parametrize(("case", "size"), [("closure", 30), ("sssp", 2_000)])
def test_plain_spark_gets_the_rows_that_we_get(case, size):
    """Ids stand for the numbers, row by row."""
    given = spark.CASES[case](size)

    assert np.array_equal(given.shown(given.rows), given.plain)
    assert len(np.unique(given.rows, axis=0)) == len(given.rows)
    update = spark.updates(given, given.rows[:3], [1, -1, 1])
    assert update.multiplicity.tolist() == [1, -1, 1]


def test_absent_data_is_said_to_be_absent(monkeypatch, tmp_path, capsys):
    """LUBM alone, without its files, is left out with a message that says where they belong."""
    monkeypatch.setattr(harness, "DATA", tmp_path)
    monkeypatch.setattr("sys.argv", ["spark.py", "lubm"])

    assert spark.main() == harness.ABSENT
    assert str(tmp_path / "univ-bench.nt") in capsys.readouterr().err
