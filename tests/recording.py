"""Who records Java's classes. Invariant: no process that lives as long as a worker does.

An archive of classes is written when a process exits, and one process at a time records.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from streamreasoner.io.spark import launch, session
from streamreasoner.system import class_data, jvm


@contextmanager
def left_to_others():
    """Start Java processes that record no classes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_data, "_claim", lambda path: None)  # noqa: ARG005 - its parameter
        yield


@contextmanager
def classes_of_spark(directory):
    """What the next pipeline that starts a JVM has of Spark's classes."""
    settings = {"spark.jars.packages": session.PACKAGES, "spark.driver.memory": "1g"}
    how = launch.directly(jvm.java(newest=session.NEWEST_JAVA), settings, directory)
    try:
        yield how.class_data
    finally:
        how.class_data.close(exited=False)
