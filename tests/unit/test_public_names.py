"""The public API. Invariant: what `streamreasoner` exports is pinned, importable and light."""

from __future__ import annotations

import json
import subprocess
import sys

import streamreasoner

PUBLIC = [
    "Diff",
    "Facts",
    "Reasoner",
    "StreamReasonerError",
    "Term",
    "Trace",
    "Update",
    "Violation",
    "__version__",
]

PRINT_LOADED = """
import json, sys
import streamreasoner
heavy = {"confluent_kafka", "kafka", "prometheus_client", "pyspark", "typer"}
print(json.dumps(sorted(heavy & sys.modules.keys())))
"""


def test_public_names_are_pinned() -> None:
    """A public name comes or goes by decision, not by accident."""
    assert streamreasoner.__all__ == PUBLIC


def test_public_names_exist() -> None:
    """Every name in `__all__` can be imported."""
    missing = [name for name in PUBLIC if not hasattr(streamreasoner, name)]

    assert missing == []


def test_the_library_stands_without_kafka_and_spark() -> None:
    """Importing the Python API loads no client of Kafka, Spark, Delta or Prometheus."""
    finished = subprocess.run(
        [sys.executable, "-c", PRINT_LOADED], capture_output=True, text=True, check=True
    )

    assert json.loads(finished.stdout) == []
