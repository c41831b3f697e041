"""A checkpoint of Spark for batches that Spark does not run. Invariant: Spark reads it as its own.

The first batches of a state may come from elsewhere. Each is written as Spark writes one that
reads nothing: its plan ends where the input will begin, and Spark goes on there with the batch
after them. Spark fills in settings that a plan lacks.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

from streamreasoner.system import disk

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.io.spark.offsets import Ends

_VERSION = "v1\n"
_COMMITTED = f'{_VERSION}{{"nextBatchWatermarkMs":0}}'


class PlantedCheckpoint:
    """Writes a checkpoint.

    Args:
        directory: Spark's checkpoint directory.
        starts: Where the input begins: topic -> partition -> offset.
        now: The time of its batches, milliseconds since 1970.
    """

    def __init__(self, directory: Path, starts: Ends, now: int) -> None:
        self._directory = directory
        self._starts = json.dumps(starts)
        self._batch = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": now, "conf": {}})

    def begin(self) -> None:
        """Fix where the input begins."""
        if not (self._directory / "metadata").exists():
            self._write("metadata", json.dumps({"id": str(uuid.uuid4())}))
        # Spark's readers skip one byte.
        self._write("sources/0/0", f"\0{_VERSION}{self._starts}")

    def plan(self, batch: int, ends: Ends | None = None) -> None:
        """Record that a batch has begun, which reads no input, or up to these offsets."""
        reached = self._starts if ends is None else json.dumps(ends)
        self._write(f"offsets/{batch}", f"{_VERSION}{self._batch}\n{reached}")

    def commit(self, batch: int) -> None:
        """Record that a batch is finished."""
        self._write(f"commits/{batch}", _COMMITTED)

    def _write(self, name: str, text: str) -> None:
        path = self._directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        disk.write(path, text.encode())
        disk.sync(path.parent)
