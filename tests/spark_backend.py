"""Building blocks of tests of the Spark backend: a session with Delta Lake, and states in it."""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager

import pytest

from streamreasoner import jvm
from streamreasoner.backends.spark.backend import SparkBackend
from streamreasoner.backends.spark.dictionary import DistributedDictionary
from streamreasoner.reasoner import Store
from streamreasoner.streaming import session
from streamreasoner.streaming.lock import StateLock

BUCKETS = 4
"""So few that a probe meets facts that it is not for."""
MARKS_OF_AN_OWN_JVM = [
    # PySpark leaves it to the collector to close its sockets and the pipe to its JVM.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("leftovers"),
]
"""Of a module whose sessions have JVMs of their own."""
MARKS = [*MARKS_OF_AN_OWN_JVM, pytest.mark.usefixtures("joined_jvm")]
"""Of a module that has sessions, one at a time."""
THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""Whether there is time for many examples."""


@contextmanager
def spark_session(directory, options=()):
    """A session whose files are in a directory, with more options if given."""
    options = {**session.WITH_DELTA, **dict(options)}
    lock, process_group = StateLock(directory), jvm.ProcessGroup()
    started = None
    try:
        started = session.start("tests", directory, options, lock.descriptor, process_group)
        yield started.spark
    finally:
        if started is not None:
            started.stop()
        process_group.close()
        lock.close()


def stores(spark, directory):
    """Makes stores in Spark, each empty and of its own."""
    numbers = itertools.count()

    def store():
        place = f"file:{directory}/state-{next(numbers)}"
        dictionary = DistributedDictionary(spark, f"{place}/terms")
        return Store(dictionary, lambda plan: SparkBackend(spark, place, plan, dictionary, BUCKETS))

    return store
