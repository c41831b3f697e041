"""The Spark session: classic local mode, on loopback, tuned for small batches.

Invariant: the JVM does not outlive this process, holds the state lock while it lives, and listens
on loopback only.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from streamreasoner import jvm
from streamreasoner.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from py4j.java_gateway import JavaGateway

# The complete set of connector jars exists for 4.0.0; it runs on every 4.0.x.
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
DELTA = "io.delta:delta-spark_2.13:4.0.1"
# Java 24 took the security manager away, which Hadoop's client still asks for.
NEWEST_JAVA = 23

_LOG_LINES = 15
_FLAGS = (
    # Compiler and collector share few cores with the driver: the cheap ones give them back sooner.
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    # Hadoop runs chmod for each file it writes; this way of forking does without a helper process.
    "-Djdk.lang.Process.launchMechanism=VFORK",
    f"-Dlog4j2.configurationFile=file:{Path(__file__).with_name('log4j2.properties')}",
)

_TUNING = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    # Safe with one driver only, which the state lock and the transactional id see to.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"
    ),
    # Without the checksum files that LocalFileSystem writes next to each file of the checkpoint.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # A batch is bounded by its messages; the driver's memory bounds their size.
    "spark.driver.maxResultSize": "0",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.codegen.wholeStage": "false",
    "spark.locality.wait": "0s",
    # Else PySpark looks at the call stack for every column that a plan is made of.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}


WITH_DELTA = {
    "spark.jars.packages": f"{CONNECTOR},{DELTA}",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # The log of one table is small; reading it with 50 tasks takes seconds.
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""Settings of a session whose Spark reads and writes Delta tables."""


@dataclass(frozen=True, slots=True)
class Session:
    """A running Spark and what it takes to end it.

    Attributes:
        spark: The session.
        log_file: What the JVM printed.
    """

    spark: SparkSession
    log_file: Path
    _gateway: JavaGateway
    _temporary: Path

    def stop(self) -> None:
        """Stop Spark and its JVM."""
        with suppress(Py4JError, OSError):
            self.spark.stop()
        with suppress(Py4JError, OSError):
            self._gateway.shutdown()
        # PySpark keeps the gateway for the next session of the process; this one is over.
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
        process: subprocess.Popen[bytes] = self._gateway.proc
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
        shutil.rmtree(self._temporary, ignore_errors=True)


def start(
    app_id: str,
    directory: Path,
    options: Mapping[str, str],
    lock_descriptor: int,
    kin: jvm.Kin,
) -> Session:
    """Start Spark; the connector's jars are downloaded once.

    Args:
        app_id: Name of the application.
        directory: Where the JVM's log and temporary files go.
        options: `spark.*` settings over the ones chosen here.
        lock_descriptor: The state lock, which the JVM inherits.
        kin: The process group of the JVM; closing it ends a start that is under way.

    Raises:
        EnvironmentSetupError: Java is missing or too old, or Spark does not start.
    """
    java = jvm.java(newest=NEWEST_JAVA)
    os.environ.setdefault("JAVA_HOME", str(Path(java).resolve().parent.parent))
    # Built-ins that executors evaluate are Python, and need what this Python has.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # A JVM that is killed leaves its files behind: they are here, and go with the next start.
    temporary = directory / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    settings = {
        "spark.local.dir": str(temporary),
        "spark.master": "local[2]",
        "spark.app.name": app_id,
        "spark.jars.packages": CONNECTOR,
        "spark.jars.ivySettings": str(jvm.ivy_settings()),
        "spark.jars.ivy": str(jvm.cache_directory() / "ivy"),
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": " ".join((*_FLAGS, f'"-Djava.io.tmpdir={temporary}"')),
        **_TUNING,
        **options,
    }
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    log_file = directory / "spark.log"
    with log_file.open("wb") as log:
        try:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                conf,
                {
                    "stdout": log,
                    "stderr": subprocess.STDOUT,
                    "pass_fds": (lock_descriptor,),
                    "process_group": kin.group,
                },
            )
            context = SparkContext(conf=conf, gateway=gateway)
        except (PySparkRuntimeError, Py4JError, OSError) as error:
            raise EnvironmentSetupError(
                f"Spark does not start. The end of {log_file}:\n{tail(log_file)}"
            ) from error
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_not_of_py4j)
    return Session(SparkSession(context), log_file, gateway, temporary)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Whether a record of the root logger is not Py4J's, which logs a lost connection there too."""
    return record.module != "java_gateway"


def tail(log_file: Path) -> str:
    """The last lines of a log that say something."""
    lines = [
        line
        for line in log_file.read_text(errors="replace").splitlines()
        if line.strip() and not line.lstrip().startswith("at ")
    ]
    return "\n".join(lines[-_LOG_LINES:])
