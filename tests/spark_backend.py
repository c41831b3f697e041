"""Building blocks of tests of the Spark backend: a session with Delta Lake, and states in it."""

from __future__ import annotations

import itertools
from contextlib import contextmanager

import pytest
from spark_jvm import start_session
from thorough import THOROUGH

from streamreasoner.backends.spark.backend import SparkBackend
from streamreasoner.backends.spark.tables.distributed_dictionary import DistributedDictionary
from streamreasoner.engine.session import Store
from streamreasoner.io.spark import session
from streamreasoner.state.lock import StateLock
from streamreasoner.system import jvm

BUCKETS = 4
"""Few, so that a probe also reads facts of other keys."""
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

GENERATED_CODE = {
    "spark.sql.codegen.maxFields": "100",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
"""Options that make Spark compile its queries, as by default."""
# Compiling a query takes longer than interpreting it on the few rows of a test.
_INTERPRETED = {
    "spark.sql.codegen.maxFields": "0",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_OPTIONS = session.WITH_DELTA | (GENERATED_CODE if THOROUGH else _INTERPRETED)


@contextmanager
def spark_session(directory, options=()):
    """A session with its files in a directory, and with additional options."""
    options = {**_OPTIONS, **dict(options)}
    lock, process_group = StateLock(directory), jvm.ProcessGroup()
    started = None
    try:
        started = start_session(directory, options, lock.descriptor, process_group)
        yield started.spark
    finally:
        if started is not None:
            started.stop()
        process_group.close()
        lock.close()


def stores(spark, directory):
    """A factory of separate, empty stores in Spark."""
    numbers = itertools.count()

    def store():
        place = f"file:{directory}/state-{next(numbers)}"
        dictionary = DistributedDictionary(spark, f"{place}/terms")
        return Store(dictionary, lambda plan: SparkBackend(spark, place, plan, dictionary, BUCKETS))

    return store
