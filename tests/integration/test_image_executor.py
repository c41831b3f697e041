"""The container image as an executor of Spark, on a cluster of processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from cluster import CHEAP, DEADLINE_SECONDS, cluster, from_archive, kill
from spark_jvm import MARKS_OF_AN_OWN_JVM, spark_session

pytestmark = MARKS_OF_AN_OWN_JVM

ROOT = Path(__file__).parents[2]


def _known(context):
    """The live executors known to the driver, by id."""
    known = context._jsc.sc().statusStore().executorList(True)  # noqa: FBT003, SLF001 - PySpark does not expose it
    return {
        executor.id(): executor
        for executor in (known.apply(number) for number in range(known.size()))
    }


def _completed(context, executor):
    return _known(context)[executor].completedTasks()


def _await(done):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_image_starts_an_executor(tmp_path):
    """Started by its entry point with Kubernetes' variables, an executor receives tasks."""
    for name in ("cluster", "driver", "executor"):
        (tmp_path / name).mkdir()
    with (
        # Without a worker: all tasks are left to the executor.
        cluster(tmp_path / "cluster", 0) as machines,
        spark_session(tmp_path / "driver", machines.options | from_archive(tmp_path)) as spark,
    ):
        check(spark, tmp_path / "executor")


def check(spark, directory):
    """Start an executor in a directory, and wait until it has completed tasks."""
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
        "SPARK_LOCAL_DIRS": str(directory),
        "JAVA_HOME": os.environ["JAVA_HOME"],
    }
    options = spark.sparkContext._jvm.org.apache.spark.launcher.JavaModuleOptions  # noqa: SLF001 - PySpark does not expose it
    words = [*options.defaultModuleOptionArray(), *CHEAP.split()]
    variables |= {f"SPARK_JAVA_OPT_{number}": word for number, word in enumerate(words)}
    with (directory / "log").open("wb") as log:
        executor = subprocess.Popen(
            [sys.executable, ROOT / "deploy" / "entrypoint.py", "executor"],
            env=os.environ | variables,
            # It stores the driver's jars in its working directory.
            cwd=directory,
            stdout=log,
            stderr=log,
        )
    try:
        _await(lambda: "99" in _known(spark.sparkContext))
        assert spark.range(0, 12, 1, 12).count() == 12
        assert _completed(spark.sparkContext, "99") >= 12
    finally:
        kill(executor)
