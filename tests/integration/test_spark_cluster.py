"""The Spark backend on a cluster of processes: the result is the same when executors die."""

from __future__ import annotations

import importlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import DEADLINE_SECONDS, WORKERS, cluster, executor_id, kill
from driver import Driver
from oracle import closure, evaluate, total
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from spark_backend import (
    GENERATED_CODE,
    MARKS_OF_AN_OWN_JVM,
    spark_session,
    stores,
)
from thorough import THOROUGH

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.queries import spark_rows
from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.program import check_text

pytestmark = MARKS_OF_AN_OWN_JVM

ROOT = Path(__file__).parents[2]
# Executors evaluate the condition in Python.
CHECKED = check_text("""
reach(?x) :- start(?x) .
reach(?y) :- reach(?x), edge(?x, ?y), ?x != ?y .
""")
MIDDLE = 4
"""The step of the first epoch from which executors die; results are in files by then."""
EDGES = [("edge", (f"<a:{x}>", f"<a:{y}>"), 1) for x, y in ("ab", "bb", "bc")]
EPOCHS = [
    [("start", ("<a:a>",), 1), *EDGES],
    [("edge", ("<a:a>", "<a:b>"), -1), ("edge", ("<a:a>", "<a:c>"), 1)],
]


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """A cluster."""
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def spark(machines, tmp_path_factory):
    """A session on it, whose executors get this package from the driver."""
    directory = tmp_path_factory.mktemp("driver")
    package = shutil.make_archive(str(directory / "package"), "zip", ROOT, "streamreasoner")
    options = {**machines.options, **GENERATED_CODE, "spark.submit.pyFiles": package}
    with spark_session(directory, options) as started:
        yield started


def assert_agrees_with_the_oracle(spark, directory):
    """Apply epochs to a new state: traces and closures are the oracle's."""
    driver = Driver(CHECKED, store=stores(spark, directory)())
    for number, epoch in enumerate(EPOCHS, start=1):
        driver.apply(epoch)
        wanted = evaluate(CHECKED, total(EPOCHS[:number]))
        assert (driver.trace(), driver.closure()) == (wanted, closure(wanted))


def test_executors_take_the_package_that_they_are_given(spark):
    """They import built-ins from the archive, and neither numba nor its kernels."""

    def imported(_):
        built_ins = importlib.import_module("streamreasoner.values.builtins")
        return f"{built_ins.__file__} {'numba' in sys.modules}"

    [row] = spark.range(1).select(F.udf(imported)("id").alias("imported")).collect()
    assert re.search(r"package\.zip/streamreasoner/values/builtins\.py False$", row.imported)


def test_few_rows_go_through_the_driver(spark, tmp_path):
    """Assertions and retractions on a cluster."""
    assert_agrees_with_the_oracle(spark, tmp_path)


def test_a_folder_of_the_driver_is_copied_for_executors(spark, tmp_path):
    """The copy is in their shared directory, and is deleted with the intermediate files."""
    files.check(spark, f"file:{tmp_path}")
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / "trace.parquet")
    runner = spark_rows.QueryRunner(spark, f"file:{tmp_path}/steps")
    place = runner.reachable(tmp_path / "trace.parquet")
    assert place.startswith(f"file:{tmp_path}/steps/")
    assert spark.read.parquet(place).count() == 3
    # The changes of an epoch stay readable until the next one ends.
    runner.begin()
    assert files.exists(spark, place)
    runner.begin()
    assert not files.exists(spark, place)


def test_a_place_that_spark_does_not_know_is_refused(spark):
    """The message has the place, the key and Hadoop's error."""
    with pytest.raises(EnvironmentSetupError, match=r"s9://bucket/x \(spark.state_directory\).*s9"):
        files.check(spark, "s9://bucket/x")


@dataclass
class Deaths:
    """How many executors have died.

    Attributes:
        between: With no job running.
        within: With a task of theirs running.
    """

    between: int = 0
    within: int = 0


@pytest.fixture
def deaths(machines, spark, monkeypatch):
    """Executors die while an epoch computes its steps: between jobs, then in the middle of one."""
    deaths, cut = Deaths(), spark_rows.QueryRunner.materialize
    context, numbers = spark.sparkContext, itertools.count(1)

    def computed(runner, rows):
        if rows.table is not None or next(numbers) < MIDDLE or deaths.within:
            return cut(runner, rows)
        if not deaths.between:
            assert not context.statusTracker().getActiveJobsIds()
            kill(_all_executors(machines)[0])
            deaths.between += 1
        # A hanging executor keeps its task until it dies. All hang, as any may get the task.
        victims = _all_executors(machines)
        for victim in victims:
            victim.send_signal(signal.SIGSTOP)
        over = threading.Event()
        watcher = threading.Thread(target=_watch, args=(context, victims, over, deaths))
        watcher.start()
        try:
            return cut(runner, rows)
        finally:
            over.set()
            watcher.join()

    monkeypatch.setattr(spark_rows.QueryRunner, "materialize", computed)
    return deaths


def _watch(context, victims, over, deaths):
    """Kill the first executor that has a task, and resume the others."""
    alive = {executor_id(victim): victim for victim in victims}
    while len(alive) == len(victims) and not over.wait(0.1):
        busy = [name for name, known in _known(context).items() if known.activeTasks()]
        if found := alive.keys() & busy:
            kill(alive.pop(min(found)))
            deaths.within += 1
    for victim in alive.values():
        victim.send_signal(signal.SIGCONT)


def _known(context):
    """The live executors known to the driver, by id."""
    known = context._jsc.sc().statusStore().executorList(True)  # noqa: FBT003, SLF001 - PySpark does not expose it
    return {
        executor.id(): executor
        for executor in (known.apply(number) for number in range(known.size()))
    }


def _completed(context, executor):
    return _known(context)[executor].completedTasks()


def _all_executors(machines):
    """The executors, once all are registered."""
    _await(lambda: len(machines.executors()) == WORKERS)
    return machines.executors()


def _await(done):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_image_starts_an_executor(spark, tmp_path):
    """Started by its entry point with Kubernetes' variables, an executor receives tasks."""
    conf = spark.sparkContext.getConf()
    variables = {
        "SPARK_DRIVER_URL": f"spark://CoarseGrainedScheduler@127.0.0.1:{conf.get('spark.driver.port')}",
        "SPARK_EXECUTOR_ID": "99",
        "SPARK_EXECUTOR_CORES": "1",
        "SPARK_EXECUTOR_MEMORY": "512m",
        "SPARK_APPLICATION_ID": spark.sparkContext.applicationId,
        "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
        "SPARK_EXECUTOR_POD_NAME": "executor-99",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_LOCAL_DIRS": str(tmp_path),
        "JAVA_HOME": os.environ["JAVA_HOME"],
    }
    options = spark.sparkContext._jvm.org.apache.spark.launcher.JavaModuleOptions  # noqa: SLF001 - PySpark does not expose it
    words = options.defaultModuleOptionArray()
    variables |= {f"SPARK_JAVA_OPT_{number}": word for number, word in enumerate(words)}
    with (tmp_path / "log").open("wb") as log:
        executor = subprocess.Popen(
            [sys.executable, ROOT / "deploy" / "entrypoint.py", "executor"],
            env=os.environ | variables,
            # It stores the driver's jars in its working directory.
            cwd=tmp_path,
            stdout=log,
            stderr=log,
        )
    try:
        _await(lambda: "99" in _known(spark.sparkContext))
        # It shares the tasks of a job with the other executors.
        _await(lambda: spark.range(0, 12, 1, 12).count() and _completed(spark.sparkContext, "99"))
    finally:
        kill(executor)


@pytest.mark.skipif(not THOROUGH, reason="takes minutes; part of `make test-thorough`")
def test_executors_that_die_lose_nothing(spark, tmp_path, monkeypatch, deaths):
    """With executors killed between and within jobs, the state equals the oracle's."""
    monkeypatch.setattr(spark_rows, "MAX_DRIVER_ROWS", 0)
    assert_agrees_with_the_oracle(spark, tmp_path)
    assert deaths == Deaths(between=1, within=1)
