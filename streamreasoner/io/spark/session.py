"""The Spark session: classic mode, tuned for small batches.

Invariant: a JVM that this process starts does not outlive it, holds the state lock while it lives,
and listens on loopback only unless executors are remote. Under spark-submit the JVM already runs,
and its settings take precedence.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
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
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.io.spark import launch
from streamreasoner.io.spark.refusal import last_words, refusal
from streamreasoner.io.spark.series import CHECKPOINT_FILES, CONNECTOR
from streamreasoner.io.spark.tasks.held import HELD
from streamreasoner.system import jvm
from streamreasoner.system.limits import check_limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from py4j.java_gateway import JavaGateway

    from streamreasoner.system.class_data import ClassData

LOCAL_FILES = "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0"
PACKAGES = f"{CONNECTOR},{LOCAL_FILES}"
"""The modules that a session needs, in the form that `--packages` takes."""
# Java 24 removed the security manager, which Hadoop's client still uses.
NEWEST_JAVA = 23

# A JVM that records its classes writes the archive when it exits.
_EXIT_SECONDS = 120.0
_FLAGS = (
    "-XX:-UsePerfData",
    # Without LOCAL_FILES Hadoop runs chmod for each file; VFORK needs no helper process.
    "-Djdk.lang.Process.launchMechanism=VFORK",
    f"-Dlog4j2.configurationFile=file:{Path(__file__).with_name('log4j2.properties')}",
)

# Compiler and collector compete with the driver for few cores, so use cheap ones. The optimizing
# compiler pays off only where Spark joins, and here it just passes messages on.
# A batch is copied a dozen times on its way to Python, so half of the heap is for what dies young.
_LOCAL_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:NewRatio=1")

_NAME_BITS = 60
_FILE_SYSTEM = "spark.hadoop.fs.file.impl"
_RAW_LOCAL_FILES = "org.apache.hadoop.fs.RawLocalFileSystem"

_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Executors elsewhere need not have this package when they start their first worker.
    "spark.python.daemon.module": "streamreasoner.io.spark.tasks.worker_daemon",
    # Larger results pass through the block manager and a socket of the same process.
    "spark.task.maxDirectResultSize": "100m",
}

MOST_COLLECTED = "spark.driver.maxResultSize"
"""The setting that bounds what a query brings to the driver, in bytes; 0 for no bound."""

TUNING = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    # Safe with a single driver only, which the state lock and the transactional id ensure.
    "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_FILES,
    # Avoids the checksum file that LocalFileSystem writes for each checkpoint file.
    _FILE_SYSTEM: _RAW_LOCAL_FILES,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.codegen.wholeStage": "false",
    # Compiling code for rows that are only copied takes more than interpreting them.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.locality.wait": "0s",
    # Otherwise PySpark inspects the call stack for every column of a plan.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # An explained stream has the options of its source: nothing is shown from the first secret on.
    "spark.sql.redaction.string.regex": (
        r"(?s)(?<=kafka\.(sasl\.jaas\.config|ssl\.key\.password|ssl\.keystore\.key)( -> |=)).*"
    ),
}

# What a pipeline adds to the settings of its user.
_OWN = {MOST_COLLECTED, *HELD}
# Settings that cannot change once the JVM runs.
_FIXED_AT_LAUNCH = re.compile(
    r"spark\.(master|submit\..*|jars(\..*)?|driver\.(memory|cores|extra.*|default.*|log\..*))"
)
_CLASSES = {
    CONNECTOR: "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    LOCAL_FILES: "com.globalmentor.apache.hadoop.fs.NakedLocalFileSystem",
}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunningSession:
    """A running Spark session and what is needed to stop it.

    Attributes:
        spark: The session.
        temporary: Where a JVM that this process started has its temporary files.
    """

    spark: SparkSession
    _gateway: JavaGateway
    temporary: Path | None = None
    _class_data: ClassData | None = None

    @property
    def is_running(self) -> bool:
        """Whether its JVM answers, and has not stopped it."""
        try:
            return not has_ended(self.spark)
        except (Py4JError, OSError):
            return False

    def stop(self) -> None:
        """Stop Spark, and its JVM unless spark-submit owns it."""
        with suppress(Py4JError, OSError):
            self.spark.stop()
        if self.temporary is None:
            return
        with suppress(Py4JError, OSError):
            self._gateway.shutdown()
        # PySpark would reuse this closed gateway for the next session of the process.
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
        # A context whose JVM has died cannot be stopped.
        SparkContext._active_spark_context = None  # noqa: SLF001
        process: subprocess.Popen[bytes] = self._gateway.proc
        if process.stdin is not None:
            process.stdin.close()
        if self._class_data is not None and self._class_data.recording:
            _log.info(
                "Writing an archive of Spark's classes, which halves the time of later starts."
            )
            with suppress(subprocess.TimeoutExpired):
                process.wait(_EXIT_SECONDS)
        process.kill()
        code = process.wait()
        if self._class_data is not None:
            self._class_data.close(exited=code == 0)
        shutil.rmtree(self.temporary, ignore_errors=True)


def start(
    app_id: str,
    directory: Path,
    options: Mapping[str, str],
    lock_descriptor: int,
    process_group: jvm.ProcessGroup,
) -> RunningSession:
    """Start Spark; downloads the connector's jars once.

    Args:
        app_id: Name of the application.
        directory: Where the JVM's log and temporary files go.
        options: `spark.*` settings; they override those chosen here, spark-submit's override them.
        lock_descriptor: The state lock, which the JVM inherits.
        process_group: The JVM's process group; closing it aborts a start in progress.

    Raises:
        EnvironmentSetupError: Java is missing or too old, or Spark does not start.
    """
    # Executors evaluate built-ins in Python, with this interpreter's packages.
    os.environ.setdefault("PYSPARK_PYTHON", options.get("spark.pyspark.python", sys.executable))
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_from_py4j)
    session = (
        _join(app_id, options)
        if submitted()
        else _launch(app_id, directory, options, lock_descriptor, process_group)
    )
    try:
        _check_classes(session.spark)
    except EnvironmentSetupError:
        session.stop()
        raise
    return session


def submitted() -> bool:
    """Whether spark-submit started this process, and with it a JVM."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def check_java() -> None:
    """Check that Spark supports the installed Java; under spark-submit it already runs.

    Raises:
        EnvironmentSetupError: Java is missing or too old, or a limit of the process is too low.
    """
    if not submitted():
        check_limits()
        jvm.java(newest=NEWEST_JAVA)


def _join(app_id: str, options: Mapping[str, str]) -> RunningSession:
    """A session in spark-submit's JVM, whose settings take precedence."""
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    # Java tells the process that joined last which functions it has dropped, by names that Py4J
    # counts from 0 in each process.
    gateway.gateway_property.pool.next_id = secrets.randbits(_NAME_BITS)
    conf = SparkConf(_jvm=gateway.jvm)
    late = [
        name
        for name, value in options.items()
        if _FIXED_AT_LAUNCH.fullmatch(name) and value != conf.get(name)
    ]
    if late:
        _log.warning("Under spark-submit these spark.options have no effect: %s.", ", ".join(late))
    settings = {"spark.app.name": app_id, **_defaults(conf.get("spark.master", ""))}
    for name, value in {**settings, **options}.items():
        if not _FIXED_AT_LAUNCH.fullmatch(name):
            conf.setIfMissing(name, value)
    try:
        return RunningSession(_session(conf, gateway), gateway)
    except (CapturedException, Py4JError) as error:
        raise refusal(last_words(str(error)), options, _OWN) from error


def _launch(
    app_id: str,
    directory: Path,
    options: Mapping[str, str],
    lock_descriptor: int,
    process_group: jvm.ProcessGroup,
) -> RunningSession:
    """A session in a new JVM."""
    java = jvm.java(newest=NEWEST_JAVA)
    os.environ.setdefault("JAVA_HOME", str(Path(java).resolve().parent.parent))
    # A killed JVM leaves its temporary files here; the next start removes them.
    temporary = directory / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    master = options.get("spark.master", "local[2]")
    memory = options.get("spark.driver.memory", "1g")
    flags = [*_FLAGS]
    if is_local(master):
        # A heap that grows promotes what dies young, and each promotion touches new pages.
        flags += (*_LOCAL_FLAGS, f"-Xms{memory}")
    settings = {
        "spark.local.dir": str(temporary),
        "spark.master": master,
        "spark.app.name": app_id,
        "spark.jars.packages": PACKAGES,
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": " ".join((*flags, f'"-Djava.io.tmpdir={temporary}"')),
        **_defaults(master),
        **options,
    }
    how = launch.directly(java, settings, temporary) if is_local(master) else None
    if how is None:
        how = launch.by_scripts(settings)
    conf = SparkConf(loadDefaults=False).setAll(list(how.settings.items()))
    log_file = directory / "spark.log"
    with log_file.open("wb") as log:
        try:
            gateway = launch.start(how, temporary, log, lock_descriptor, process_group.id)
            spark = _session(conf, gateway)
        except (CapturedException, PySparkRuntimeError, Py4JError, OSError) as error:
            if how.class_data is not None:
                how.class_data.close(exited=False)
            is_told = isinstance(error, CapturedException)
            said = last_words(str(error) if is_told else log_file.read_text(errors="replace"))
            raise refusal(said, options, _OWN, log_file) from error
    return RunningSession(spark, gateway, temporary, how.class_data)


def is_local(master: str) -> bool:
    """Whether executors are threads of the driver's JVM."""
    return master.startswith("local") and not master.startswith("local-cluster")


def _defaults(master: str) -> dict[str, str]:
    """The settings chosen here; remote executors must be able to reach the driver."""
    return TUNING | (_LOCAL if is_local(master) else {})


def has_ended(spark: SparkSession) -> bool:
    """Whether the context of a session was stopped."""
    context = spark.sparkContext._jsc  # noqa: SLF001 - PySpark does not tell otherwise
    return context is None or bool(context.sc().isStopped())


def is_connected(spark: SparkSession) -> bool:
    """Whether the jars of the connector are on the class path."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - PySpark exposes no gateway
    return _has(gateway, CONNECTOR)


def _check_classes(spark: SparkSession) -> None:
    """Refuse a Spark without the required jars, before the first batch fails."""
    if not is_connected(spark):
        raise EnvironmentSetupError(
            f"Spark runs without {CONNECTOR}. Add it to --packages of spark-submit, or to "
            "spark.jars.packages in spark.options if spark-submit is not used, or list its "
            "jars in spark.jars."
        )


def _session(conf: SparkConf, gateway: JavaGateway) -> SparkSession:
    """A session that writes local files without running chmod for each, if the jar is there."""
    if (
        conf.get(_FILE_SYSTEM) == _RAW_LOCAL_FILES
        and is_local(conf.get("spark.master", ""))
        and _has(gateway, LOCAL_FILES)
    ):
        conf.set(_FILE_SYSTEM, _CLASSES[LOCAL_FILES])
    spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
    # Settings of SQL are read with the first one that is asked for.
    spark.conf.get("spark.sql.session.timeZone")
    return spark


def _has(gateway: JavaGateway, module: str) -> bool:
    """Whether a module's jar is on the class path."""
    loader = gateway.jvm.Thread.currentThread().getContextClassLoader()
    return loader.getResource(f"{_CLASSES[module].replace('.', '/')}.class") is not None


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    """Whether a record is not Py4J's, which logs lost connections to the root logger."""
    return record.module != "java_gateway"
