"""The Spark backend, on real Spark and Delta tables, agrees with the oracle."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from driver import Driver
from oracle import closure, evaluate, total
from programs.cases import read_all
from spark_backend import MARKS, THOROUGH, stores

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.backend import SparkBackend
from streamreasoner.backends.spark.epoch import progress
from streamreasoner.backends.spark.queries import spark_rows
from streamreasoner.backends.spark.queries.columns import schema
from streamreasoner.backends.spark.queries.spark_rows import QueryRunner
from streamreasoner.backends.spark.tables import arranged, bucket_files, committed
from streamreasoner.backends.spark.tables.distributed_dictionary import DistributedDictionary
from streamreasoner.engine.session import Store
from streamreasoner.errors import MultiplicityOverflowError, RecursionLimitError, StateError
from streamreasoner.plan.algebra import Arrangement
from streamreasoner.program import check_text

pytestmark = MARKS


@pytest.fixture
def store(spark, tmp_path):
    """A factory of stores in the session."""
    return stores(spark, tmp_path)


def test_jars_stay_where_they_are_and_settings_out_of_sight(spark):
    """A start copies no jar into the state directory, and the command line has no settings."""
    place = Path(spark.conf.get("spark.local.dir"))
    assert list(place.rglob("*.jar")) == []
    port = spark.sparkContext._gateway.gateway_parameters.port  # noqa: SLF001 - not shown elsewhere
    listening = (item for item in psutil.net_connections("tcp") if item.status == "LISTEN")
    command = psutil.Process(
        next(item.pid for item in listening if item.laddr.port == port)
    ).cmdline()
    assert "org.apache.spark.deploy.SparkSubmit" in command
    assert "spark.sql" not in " ".join(command)


def everything(driver):
    """Trace and closure."""
    return driver.trace(), driver.closure()


def test_assertions_of_a_fact_without_arguments_are_counted(store):
    """It has no columns by which to look it up."""
    driver = Driver(check_text("@input p/0 .\nq() :- p() ."), store=store())
    fact = np.empty((1, 0), np.int32)
    assert driver.session.engine.asserted("p", fact).tolist() == [0]
    driver.apply([("p", (), 2)])

    assert driver.session.engine.asserted("p", fact).tolist() == [2]
    assert driver.session.engine.asserted("q", fact).tolist() == [0]


MANY = """
near(<a:a>, 0) .
near(?y, min(?e)) :- near(?x, ?d), edge(?x, ?y), ?e = ?d + 1, ?e < 9 .
far(?x) :- edge(?_y, ?x), not near(?x, 1) .
"""
LEAST = """
near(<a:a>, 0) .
near(?y, min(?e)) :- near(?x, ?d), edge(?x, ?y), ?e = ?d + 1 .
"""
SUMS = """
leaving(?x, count(?y)) :- edge(?x, ?y) .
ends(count(distinct ?y)) :- edge(?_x, ?y) .
weight(?x, avg(?n)) :- weighs(?x, ?n) .
"""
OUT_OF_RANGE = """
twice(?x * 2) :- n(?x) .
total(sum(?x)) :- n(?x) .
end(?s) :- s(?s), matches(?s, "(a+)+$") .
"""
NUMBER = '"{}"^^<http://www.w3.org/2001/XMLSchema#{}>'.format
LARGEST = [("n", (NUMBER(x, "integer"),), 1) for x in (1, (1 << 63) - 1)]
LARGEST += [("s", (f'"{"a" * 60}!"',), 1)]


LONG = """
length(?x, ?y, 1) :- edge(?x, ?y) .
length(?x, ?z, ?n) :- length(?x, ?y, ?m), edge(?y, ?z), ?n = ?m + 1 .
far(?x, max(?n)) :- length(?x, _, ?n) .
"""


def test_many_rows_are_as_few(store, monkeypatch):
    """Results are the same whether relations go through files or the driver."""
    checked = check_text(MANY)
    monkeypatch.setattr(spark_rows, "MAX_DRIVER_ROWS", 0)
    driver = Driver(checked, store=store())
    edge = "edge", ("<a:a>", "<a:b>")
    epochs = [[(*edge, 2)], [(*edge, -2)]]

    for epoch in epochs:
        driver.apply(epoch)

    expected = evaluate(checked, total(epochs))
    assert everything(driver) == (expected, closure(expected))


def test_few_rows_meet_many(store, monkeypatch):
    """A step with few rows reads rows in files and in the driver."""
    checked = check_text(LEAST)
    monkeypatch.setattr(spark_rows, "MAX_DRIVER_ROWS", 3)
    driver = Driver(checked, store=store())
    updates = [
        ("edge", tuple(f"<a:{letter}>" for letter in word), 1) for word in ("ab", "bc", "xy", "yx")
    ]

    driver.apply(updates)

    expected = evaluate(checked, total([updates]))
    assert everything(driver) == (expected, closure(expected))


def test_many_candidates_are_aggregated_as_few(store, monkeypatch):
    """Executors count and sum groups that may be larger than the driver, and count overflows."""
    checked = check_text(SUMS + OUT_OF_RANGE)
    monkeypatch.setattr(spark_rows, "MAX_DRIVER_ROWS", 0)
    driver = Driver(checked, store=store())
    values = (NUMBER(1, "integer"), NUMBER("2.5", "decimal"), '"heavy"')
    updates = [("weighs", ("<a:a>", value), 1) for value in values]
    updates += [("edge", (f"<a:{x}>", f"<a:{y}>"), 1) for x, y in ("ab", "ac", "bc")]
    updates += LARGEST

    driver.apply(updates)

    expected = evaluate(checked, total([updates]))
    assert everything(driver) == (expected, closure(expected))
    assert driver.session.engine.statistics().overflows >= 2


class DeathError(Exception):
    """Simulates the death of a process."""


@pytest.mark.parametrize("same", [True, False] if THOROUGH else [True])
def test_a_large_epoch_goes_on_where_a_process_died(spark, tmp_path, monkeypatch, same):
    """A resumed epoch skips settled iterations; a different epoch starts over."""
    checked = check_text(LONG)
    monkeypatch.setattr(spark_rows, "MAX_DRIVER_ROWS", 0)
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0)
    edges = [("edge", (f"<a:{n}>", f"<a:{n + 1}>"), 1) for n in range(2)]
    settled = []
    place = f"file:{tmp_path}/state"

    class Mortal(SparkBackend):
        """Dies when it settles for the fourth time."""

        def settle(self, iteration):
            """Settle, or die."""
            settled.append((self._stratum, iteration))
            if len(settled) == 4:
                raise DeathError
            return super().settle(iteration)

        def rollback(self):
            """A dead process rolls nothing back."""

    def started():
        terms = DistributedDictionary(spark, f"{place}/terms")
        return Driver(checked, store=Store(terms, lambda plan: Mortal(spark, place, plan, terms)))

    with pytest.raises(DeathError):
        started().apply(edges)
    if not same:
        edges = edges[:1]
    driver = started()
    driver.apply(edges)

    expected = evaluate(checked, total([edges]))
    assert everything(driver) == (expected, closure(expected))
    assert settled[4] == (settled[3] if same else settled[0])
    assert not files.exists(spark, f"{place}/steps/progress.json")


def test_a_failed_epoch_leaves_nothing(store):
    """An overflow of a multiplicity and endless recursion roll back their epoch."""
    checked = check_text("next(?y) :- next(?x), ?y = ?x + 1 .\nbig(?y) :- at(?x), ?y = ?x * ?x .")
    driver = Driver(checked, recursion_limit=5, store=store())
    good = [("at", (NUMBER(2, "integer"),), 1)]
    driver.apply(good)
    before = everything(driver)

    for bad, error in (
        (("at", (NUMBER(2, "integer"),), 1 << 59), MultiplicityOverflowError),
        (("next", (NUMBER(0, "integer"),), 1), RecursionLimitError),
    ):
        with pytest.raises(error):
            driver.apply([bad])
        assert everything(driver) == before

    driver.apply([("at", (NUMBER(3, "integer"),), 1)])
    expected = evaluate(checked, total([good, [("at", (NUMBER(3, "integer"),), 1)]]))
    assert everything(driver) == (expected, closure(expected))


def test_overflows_have_no_value_and_patterns_are_linear(store):
    """In the driver, results out of range are counted, and matching ends."""
    checked = check_text(OUT_OF_RANGE)
    driver = Driver(checked, store=store())
    driver.apply(LARGEST)

    expected = evaluate(checked, total([LARGEST]))
    assert everything(driver) == (expected, closure(expected))
    assert driver.session.engine.statistics().overflows >= 2


@pytest.mark.parametrize("damage", ["page", "missing"])
def test_a_damaged_state_is_refused_with_the_way_out(spark, tmp_path, monkeypatch, damage):
    """Pages of the Spark backend's own table are verified; it is a copy, and can be deleted."""
    monkeypatch.setattr(committed, "RECENT", 0)
    checked = check_text("q(?x) :- p(?x) .")
    driver = Driver(checked, store=stores(spark, tmp_path)())
    driver.apply([("p", (f"<a:{n}>",), 1) for n in range(50)])
    for path in (tmp_path / "state-0" / "state").rglob("part-*.parquet"):
        if damage == "missing":
            path.unlink()
            continue
        data = bytearray(path.read_bytes())
        first = pq.ParquetFile(path).metadata.row_group(0).column(0)
        data[first.data_page_offset + first.total_compressed_size - 1] ^= 1
        path.write_bytes(data)

    with pytest.raises(StateError, match=r"state-0.*part-.*delete .*state-0"):
        driver.apply([("p", (f"<a:{n}>",), -1) for n in range(50)])


def test_facts_are_selected_and_counted(store):
    """Facts by argument, and the size of the state, are those of the columnar backend."""
    case = read_all()["lattice-shortest-paths"]
    drivers = [Driver(case.checked), Driver(case.checked, store=store())]
    for driver in drivers:
        driver.apply(case.epochs[0])

    predicate, args = min(case.closures[0])
    selected = []
    for driver in drivers:
        engine = driver.session.engine
        selection = engine.select(predicate, {0: driver.session.dictionary.intern(args[0])})
        facts = driver.facts(predicate, selection.args)
        columns = (
            selection.stratum,
            selection.since,
            selection.until,
            selection.asserted,
            selection.total,
        )
        selected.append(sorted(zip(facts, *(column.tolist() for column in columns), strict=True)))
    assert selected[0] == selected[1]
    columnar_size, spark_size = (driver.session.engine.statistics() for driver in drivers)
    names = ("facts", "present", "asserted", "below_zero", "trace_rows")
    assert [getattr(columnar_size, n) for n in names] == [getattr(spark_size, n) for n in names]
    assert spark_size.bytes > 0


PAIRS = Arrangement("p", (), (0,)), Arrangement("p", (), (1,))
SOME = range(6)
COLUMNS = (
    "predicate STRING, a0 LONG, a1 LONG, iteration INT, multiplicity LONG, transition LONG,"
    " epoch LONG"
)


def differences(random):
    """Rows of an epoch: facts, an iteration, and differences of multiplicity and transition."""
    rows = {(random.choice(SOME), random.choice(SOME)) for _ in range(3)}
    return [("p", *args, 0, random.choice([-1, 1]), random.choice([-1, 0, 1])) for args in rows]


def sums(table, arrangement, keys=None):
    """The nonzero sums by fact and iteration that an arrangement has for some keys."""
    [position] = arrangement.key
    key_table = None if keys is None else pa.table({"key": pa.array(keys, pa.int64())})
    rows = table.read(arrangement, key_table, {position: "key"})
    parts = rows if isinstance(rows, list) else [rows]
    counted = Counter()
    for row in [row for part in parts if part is not None for row in part.frame.collect()]:
        # Rows in the driver are not filtered by key.
        if keys is None or row[1 + position] in keys:
            counted[row[1:3], "multiplicity"] += row.multiplicity
            counted[row[1:3], "transition"] += row.transition
    return {place: value for place, value in counted.items() if value}


def test_the_last_epochs_are_written_when_they_are_many(spark, tmp_path, monkeypatch):
    """Rows are read from the driver and the table; a start returns the epochs the table lacks.

    Some writes are planned for few rows, others for many.
    """
    monkeypatch.setattr(committed, "RECENT", 6)
    monkeypatch.setattr(committed, "EPOCHS", 4)
    monkeypatch.setattr(committed, "MANY", 7)
    planned_for_many = set()
    append = arranged.ArrangedTable.append

    def noticed(self, rows, epoch):
        planned_for_many.add(runner.many)
        append(self, rows, epoch)

    monkeypatch.setattr(arranged.ArrangedTable, "append", noticed)
    random_ = random.Random(0)
    runner = QueryRunner(spark, f"file:{tmp_path}/steps")
    names = ("predicate", "a0", "a1", "iteration", "multiplicity", "transition")

    def opened():
        opened_state = committed.CommittedState(runner, f"file:{tmp_path}/state", int, buckets=2)
        opened_state.use(2, PAIRS, "")
        return opened_state

    held, expected, since = opened(), Counter(), []
    for epoch in range(12):
        rows = differences(random_) if epoch < 6 else []
        table = pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))) if rows else None
        held.append(runner.union([runner.from_table(table)] if rows else [], names), epoch)
        for _, *args, _, multiplicity, transition in rows:
            expected[tuple(args), "multiplicity"] += multiplicity
            expected[tuple(args), "transition"] += transition
        for pair in PAIRS:
            for keys in (None, [0, 2]):
                there = {
                    place: n
                    for place, n in expected.items()
                    if n and (keys is None or place[0][pair.key[0]] in keys)
                }
                assert sums(held, pair, keys) == there
        since.append(opened().open(epoch + 1))

    assert since[0] == 0
    assert all(0 <= epoch + 1 - first <= 4 for epoch, first in enumerate(since))
    assert any(epoch + 1 > first > 0 for epoch, first in enumerate(since))
    assert planned_for_many == {True, False}
    assert not runner.many


def test_the_driver_reads_the_files_of_a_step_as_spark_does(spark, tmp_path, monkeypatch):
    """The same rows and types, where the files are on its disk and where they are not."""
    monkeypatch.setattr(spark_rows, "MAX_DRIVER_ROWS", 3)
    runner = QueryRunner(spark, f"file:{tmp_path}/a b%20c/steps")
    form = schema(("predicate", "a0", "iteration", "multiplicity"))
    columns = [["p", "it's", "p", "ä"], [1, 2**40, 3, 4], [0, 1, 2, 3], [1, -1, 2, -2]]
    rows = pa.table(dict(zip(form.names, columns, strict=True)), schema=form)
    written = runner.materialize(runner.from_frame(spark.createDataFrame(rows)))
    assert written.table is None
    ours = written.whole()
    monkeypatch.setattr(files, "readable_here", lambda *_: False)
    theirs = written.whole()

    assert ours.schema == theirs.schema == form
    order = [("a0", "ascending")]
    assert ours.sort_by(order) == theirs.sort_by(order) == rows.sort_by(order)


@pytest.mark.parametrize("unsplit", [arranged.MOST_UNSPLIT, 0] if THOROUGH else [0])
def test_merging_files_changes_nothing(spark, tmp_path, monkeypatch, unsplit):
    """States with and without it hold the same after every epoch, and after a start.

    So they do if the last epoch is not the trace's yet: its rows are not read, nor merged. Files
    for all buckets may be split when they are merged, and Spark may read them or the driver.
    """
    monkeypatch.setattr(arranged, "MOST_UNSPLIT", unsplit)
    random_ = random.Random(0)
    runner = QueryRunner(spark, f"file:{tmp_path}/steps")

    def opened(name):
        opened_table = arranged.ArrangedTable(runner, f"file:{tmp_path}/{name}", int, buckets=2)
        opened_table.use(2, PAIRS, "")
        return opened_table

    merged, plain = opened("merged"), opened("plain")
    held = []
    for epoch in range(5):
        rows = [(*row, epoch) for row in differences(random_)]
        rows = runner.from_frame(spark.createDataFrame(rows, COLUMNS))
        for table, many in ((merged, 3), (plain, 1_000)):
            monkeypatch.setattr(arranged, "MANY", many)
            table.append(rows, epoch)
        held.append([sums(plain, pair) for pair in PAIRS])
        assert [sums(merged, pair) for pair in PAIRS] == held[-1]

    history = spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path / 'merged'}`").collect()
    assert any(commit.operationParameters["mode"] == "Overwrite" for commit in history)
    if unsplit:
        on_disk = [len(list((tmp_path / name).rglob("*.parquet"))) for name in ("merged", "plain")]
        assert on_disk[0] < on_disk[1]
    else:
        assert list((tmp_path / "merged").rglob("bucket=1/*.parquet"))

    monkeypatch.setattr(arranged, "MANY", 1)
    for before, few, rows_in_driver in ((5, 100, 100), (5, 100, 0), (4, 0, 0)):
        monkeypatch.setattr(arranged, "FEW_FILES", few)
        monkeypatch.setattr(spark_rows, "MAX_DRIVER_ROWS", rows_in_driver)
        again = opened("merged")
        assert again.open(before) == before
        assert [sums(again, pair) for pair in PAIRS] == held[before - 1]
        for pair, whole in zip(PAIRS, held[before - 1], strict=True):
            at = pair.key[0]
            expected = {place: n for place, n in whole.items() if place[0][at] in (0, 2)}
            assert sums(again, pair, [0, 2]) == expected
    again.append(rows, 4)
    assert [sums(again, pair) for pair in PAIRS] == held[4]
    assert opened("merged").open(3) == 0


@pytest.mark.parametrize("when", ["from the beginning", "meanwhile"])
def test_a_state_that_needs_more_of_delta_is_refused(spark, tmp_path, when):
    """Files that are read without Delta must hold what Delta would read; the way out is named."""
    runner, path = QueryRunner(spark, f"file:{tmp_path}/steps"), f"file:{tmp_path}/state"
    rows = runner.from_frame(spark.createDataFrame([("p", 1, 2, 0, 1, 1, 0)], COLUMNS))
    default = "spark.databricks.delta.properties.defaults.enableDeletionVectors"

    def opened():
        opened_table = arranged.ArrangedTable(runner, path, int, buckets=2)
        opened_table.use(2, PAIRS, "")
        return opened_table

    held = opened()
    if when == "meanwhile":
        held.append(rows, 0)
        assert opened().open(1) == 1
        properties = "('delta.enableDeletionVectors' = 'true')"
        spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES {properties}")
    else:
        spark.conf.set(default, "true")
    refused = rf"state needs .* version 3, writer version 7 .*deletionVectors.* delete {path} and"
    try:
        with pytest.raises(StateError, match=refused):
            held.append(rows, 1)
    finally:
        spark.conf.unset(default)
    with pytest.raises(StateError, match=refused):
        opened().open(2)


def test_a_damaged_log_is_refused_with_the_way_out(spark, tmp_path):
    """A commit is complete, or its table is not opened."""
    runner = QueryRunner(spark, f"file:{tmp_path}/steps")
    rows = runner.from_frame(spark.createDataFrame([("p", 1, 2, 0, 1, 1, 0)], COLUMNS))
    for epoch in range(2):
        held = arranged.ArrangedTable(runner, f"file:{tmp_path}/state", int, buckets=2)
        held.use(2, PAIRS, "")
        assert held.open(epoch) == epoch
        held.append(rows, epoch)
    commit = tmp_path / "state" / "_delta_log" / f"{1:020}.json"
    commit.write_bytes(commit.read_bytes()[:-9])

    with pytest.raises(StateError, match=rf"{commit} is damaged.* delete file:{tmp_path}/state"):
        held.open(2)


def test_a_frequent_key_is_written_by_several_tasks(spark, tmp_path):
    """A bucket with most of the rows is written to several files."""
    runner = QueryRunner(spark, f"file:{tmp_path}/steps")
    held = arranged.ArrangedTable(runner, f"file:{tmp_path}/state", int, buckets=2)
    held.use(2, PAIRS, "")
    size = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
    before = spark.conf.get(size)
    spark.conf.set(size, "64k")
    try:
        for many in (False, True):
            runner.begin()
            if many:
                runner.expect_many_rows()
            rows = spark.range(0, 20_000, 1, 8).selectExpr(
                *("'p' AS predicate", "1L AS a0", "id AS a1", "0 AS iteration"),
                *("1L AS multiplicity", "1L AS transition", f"{int(many)}L AS epoch"),
            )
            held.append(runner.from_frame(rows), int(many))
            place = f"bucket={1 if many else bucket_files.UNSPLIT}"
            files = list((tmp_path / "state" / "arrangement=p+0" / place).glob("*.parquet"))
            assert len(files) > 1 if many else len(files) == 1
    finally:
        spark.conf.set(size, before)

    assert sums(held, PAIRS[0], [1]) == {
        ((1, other), kind): 2 for other in range(20_000) for kind in ("multiplicity", "transition")
    }
