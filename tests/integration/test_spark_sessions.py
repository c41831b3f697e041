"""Sessions that join one JVM, one after the other."""

from __future__ import annotations

import threading
from pathlib import Path

import psutil
from pyspark.java_gateway import ensure_callback_server_started
from spark_jvm import MARKS_OF_AN_OWN_JVM, joined, spark_session

pytestmark = MARKS_OF_AN_OWN_JVM
DEADLINE_SECONDS = 300


class Function:
    """A function that Java calls."""

    class Java:
        """Its type in Java."""

        implements = ("java.lang.Runnable",)

    def run(self):
        """Do nothing."""


def test_a_function_that_java_drops_is_not_one_of_another_process(spark_environment, tmp_path):
    """Java tells the process that has joined last, whichever passed the function to it."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    with joined(spark_environment), spark_session(tmp_path / "first") as spark:
        java = spark._jvm  # noqa: SLF001 - PySpark has no public way to Java
        ensure_callback_server_started(spark._sc._gateway)  # noqa: SLF001 - as above
        function = java.java.util.concurrent.atomic.AtomicReference(Function())
    batches = threading.Semaphore(0)
    # PySpark connects anew, as in another process.
    with joined(spark_environment), spark_session(tmp_path / "second") as spark:
        stream = spark.readStream.format("rate").option("rowsPerSecond", 1000).load()
        writer = stream.writeStream.foreachBatch(lambda _, __: batches.release())
        query = writer.option("checkpointLocation", f"file:{tmp_path}/log").start()
        function.set(None)
        for _ in range(5):
            java.System.gc()
            java.System.runFinalization()
            assert batches.acquire(timeout=DEADLINE_SECONDS)
            assert query.isActive, query.exception()
        query.stop()


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
