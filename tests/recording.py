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
def next_launch(directory):
    """How the next pipeline starts a JVM: its class path, and the archive of its classes."""
    settings = {"spark.jars.packages": session.PACKAGES, "spark.driver.memory": "1g"}
    how = launch.directly(jvm.java(newest=session.NEWEST_JAVA), settings, directory)
    try:
        yield how
    finally:
        how.class_data.close(exited=False)


def archived(directory):
    """The class path of pipelines, and the flags with which Java reads its archive."""
    with left_to_others(), next_launch(directory) as how:
        class_path = how.command[how.command.index("-cp") + 1]
        return class_path, how.class_data.flags_of_readers
