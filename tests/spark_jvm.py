"""One JVM for the sessions of a worker. Invariant: it has no context between two users.

Starting a JVM, and Spark in a JVM that is cold, costs more than most tests do. Processes whose
environment names this one join it, as they join the JVM of spark-submit; what one of them leaves
behind when it is killed is stopped before the next one comes.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway

from streamreasoner import jvm
from streamreasoner.streaming import session
from streamreasoner.streaming.lock import StateLock

# What a JVM can only be told when it is started; sessions choose the rest.
_OPTIONS = {
    "spark.jars.packages": session.WITH_DELTA["spark.jars.packages"],
    "spark.driver.memory": "2g",
    # The code of many sessions is more than the cheap compiler's cache is made for.
    "spark.driver.defaultJavaOptions": "-XX:ReservedCodeCacheSize=240m",
}


@contextmanager
def spark_jvm(directory):
    """A JVM with the jars of pipelines, as the environment of those who join it."""
    lock, process_group = StateLock(directory), jvm.ProcessGroup()
    try:
        started = session.start("tests", directory, _OPTIONS, lock.descriptor, process_group)
        started.spark.stop()
        parameters = SparkContext._gateway.gateway_parameters  # noqa: SLF001 - not said elsewhere
        yield {
            "PYSPARK_GATEWAY_PORT": str(parameters.port),
            "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
        }
        started.stop()
    finally:
        process_group.close()
        lock.close()


@contextmanager
def joined(environment):
    """Sessions of this process, and of those that it starts, are in a JVM that runs already."""
    _forget_gateway()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            yield
        finally:
            stop_context()


def stop_context():
    """Stop what a process that was killed has left in the JVM that processes join, if any."""
    if not session.submitted():
        return
    _forget_gateway()
    gateway = launch_gateway()
    contexts = getattr(getattr(gateway.jvm.org.apache.spark, "SparkContext$"), "MODULE$")
    active = contexts.getActive()
    if active.isDefined():
        active.get().stop()
    gateway.close()


def _forget_gateway():
    """PySpark keeps its gateway for all sessions of a process; the next ones call back anew."""
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - PySpark cannot be told
