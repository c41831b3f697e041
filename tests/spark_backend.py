"""Building blocks of tests of the Spark backend: a session with Delta Lake, and states in it."""

from __future__ import annotations

import itertools
from contextlib import contextmanager

from streamreasoner import jvm
from streamreasoner.backends.spark.backend import SparkBackend
from streamreasoner.streaming import session
from streamreasoner.streaming.lock import StateLock

BUCKETS = 4
"""So few that a probe meets facts that it is not for."""


@contextmanager
def spark_session(directory, settings=None):
    """A session whose files are in a directory."""
    lock, kin = StateLock(directory), jvm.Kin()
    started = None
    try:
        started = session.start(
            "tests", directory, {**session.WITH_DELTA, **(settings or {})}, lock.descriptor, kin
        )
        yield started.spark
    finally:
        if started is not None:
            started.stop()
        kin.close()
        lock.close()


def backends(spark, directory):
    """Makes Spark backends, each with an empty state of its own."""
    numbers = itertools.count()

    def backend(plan, dictionary):
        return SparkBackend(spark, directory / f"state-{next(numbers)}", plan, dictionary, BUCKETS)

    return backend
