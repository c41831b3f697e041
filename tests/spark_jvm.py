"""One JVM for the sessions of a worker. Invariant: it has no context between two users.

Starting a JVM, and Spark in a cold JVM, costs more than most tests. Processes whose environment
names this JVM join it, like that of spark-submit. The context of a killed process is stopped before
the next one joins.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager, suppress

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from recording import archived, left_to_others
from thorough import THOROUGH

from streamreasoner.io.spark import session
from streamreasoner.state.lock import StateLock
from streamreasoner.system import jvm

MARKS_OF_AN_OWN_JVM = [
    # PySpark leaves it to the garbage collector to close its sockets and the pipe to its JVM.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("leftovers"),
]
"""Marks of a module whose sessions start their own JVMs."""
MARKS = [*MARKS_OF_AN_OWN_JVM, pytest.mark.usefixtures("joined_jvm")]
"""Marks of a module whose sessions, one at a time, join the worker's JVM."""
MARKS_OF_KILLED_PROCESSES = [] if THOROUGH else [pytest.mark.usefixtures("joined_jvm")]
"""Marks of a module that kills processes: if there is time, each kill ends a JVM of its own."""
PATIENT = {"spark.sql.streaming.pollingDelay": "50ms"}
"""Options of pipelines that leave the processor to other tests while they wait for messages.

By default they ask Kafka without a pause. Those of the demo do.
"""
WITH_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""Options of a session that reads the tables of a state with Delta Lake, as users may."""
_DELTA = "io.delta:delta-spark_2.13:4.0.1"
# Settings that must be given when the JVM starts; sessions choose the rest.
_OPTIONS = {
    # Room for a state in parts.
    "spark.master": "local[4]",
    "spark.driver.memory": "2g",
    **PATIENT,
}


@contextmanager
def spark_session(directory, options=()):
    """A session with its files in a directory, and with additional options."""
    lock, process_group = StateLock(directory), jvm.ProcessGroup()
    started = None
    try:
        started = start_session(directory, dict(options), lock.descriptor, process_group)
        yield started.spark
    finally:
        if started is not None:
            started.stop()
        process_group.close()
        lock.close()


def start_session(directory, options, lock_descriptor, process_group):
    """Start Spark without PySpark's handler of SIGINT, which fails when its context has ended."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        return session.start("tests", directory, options, lock_descriptor, process_group)
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def spark_jvm(directory):
    """A JVM with the jars of pipelines: the environment variables of processes that join it."""
    lock, process_group = StateLock(directory), jvm.ProcessGroup()
    try:
        with left_to_others():
            options = _OPTIONS | _more_jars(directory)
            started = start_session(directory, options, lock.descriptor, process_group)
        started.spark.stop()
        parameters = SparkContext._gateway.gateway_parameters  # noqa: SLF001 - not available elsewhere
        yield {
            "PYSPARK_GATEWAY_PORT": str(parameters.port),
            "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
        }
        started.stop()
    finally:
        process_group.close()
        lock.close()


def _more_jars(directory):
    """Delta Lake after the jars of pipelines, whose archive of classes then serves this JVM too."""
    # The code of many sessions exceeds the default code cache of the C1 compiler.
    flags = ["-XX:ReservedCodeCacheSize=240m", *archived(directory)[1]]
    return {
        "spark.jars": f"{jvm.jars('delta', [_DELTA])}/*",
        "spark.driver.defaultJavaOptions": " ".join(flags),
    }


@contextmanager
def joined(environment):
    """Run the sessions of this process and its children in a running JVM."""
    _forget_gateway()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            yield
        finally:
            stop_context()


def stop_context():
    """Stop the context that a killed process left in the shared JVM, if any."""
    if not session.submitted():
        return
    _forget_gateway()
    gateway = launch_gateway()
    contexts = getattr(getattr(gateway.jvm.org.apache.spark, "SparkContext$"), "MODULE$")
    active = contexts.getActive()
    if active.isDefined():
        SparkContext._gateway, SparkContext._jvm = gateway, gateway.jvm  # noqa: SLF001 - for errors
        _stop_queries(gateway.jvm.org.apache.spark.sql.classic.SparkSession)
        active.get().stop()
        _forget_gateway()
    gateway.close()


def _stop_queries(sessions):
    """Wait for the end of streaming queries, which outlive a context and write to checkpoints.

    One that waits for a broker that is gone would take ten minutes.
    """
    session = sessions.getDefaultSession()
    if session.isDefined():
        for query in session.get().streams().active():
            query.sparkSession().conf().set("spark.sql.streaming.stopTimeout", "5s")
            with suppress(Py4JJavaError):
                query.stop()


def _forget_gateway():
    """Make PySpark connect again; it keeps one gateway for all sessions of a process."""
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - PySpark has no such method
