"""What a held task of Spark imports from."""

from __future__ import annotations

import sys

from streamreasoner.io.spark.tasks.held import without_jars


def test_a_task_searches_no_jar_and_the_path_is_whole_again(monkeypatch):
    """Numba lists all that jars have to find entry points; other tasks of the process need them."""
    # A worker that has run Spark before has jars on its path.
    others = [each for each in sys.path if not each.endswith(".jar")]
    whole = ["/opt/spark/jars/spark-core.jar", *others, "/opt/spark/jars/kafka.jar"]
    monkeypatch.setattr(sys, "path", whole)

    with without_jars():
        searched = [*sys.path]

    assert searched == others
    assert sys.path is whole
