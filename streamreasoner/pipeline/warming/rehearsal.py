"""A query that comes to nothing, so that a later one finds Spark's classes loaded and compiled.

Invariant: it writes to its own temporary directory only.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from streamreasoner.io.kafka.access import security
from streamreasoner.io.observer import Observers
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.io.spark.query import Query
from streamreasoner.io.spark.source import read_stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from streamreasoner.config.kafka import KafkaConfig
    from streamreasoner.io.spark.session import RunningSession
    from streamreasoner.state.record import Offsets

_BATCHES = 30
# An input topic may have no messages.
_SECONDS = 10.0


def rehearse(running: RunningSession, kafka: KafkaConfig, control_topic: str | None) -> None:
    """Read some batches of the input, one message of a partition at a time, and forget them.

    Args:
        running: The session.
        kafka: Cluster, topics and options.
        control_topic: Topic of control messages, None if there is none.

    Raises:
        StreamReasonerError: They cannot be read.
    """
    stream = read_stream(running.spark, kafka, security.java(kafka.security), control_topic, 1)
    local = running.spark.conf.get("spark.local.dir", None)
    with tempfile.TemporaryDirectory(prefix="rehearsal-", dir=local) as directory:
        runner = _Forgetful(Path(directory))
        query = Query(stream, runner, lambda _: pa.table({}), Observers(), 600.0, _OneMessage())
        query.start("rehearsal", Path(directory), 0.0, running.temporary)
        deadline = time.monotonic() + _SECONDS
        while runner.next < _BATCHES and time.monotonic() < deadline:
            time.sleep(0.05)
        query.stop()
        query.wait()


class _Forgetful:
    """Runs batches that come to nothing."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self.next = 0

    def range(self, epoch: int) -> Offsets:
        """Input range of a batch."""
        return Checkpoint(self._checkpoint, epoch, epoch - 1).range(epoch)

    def run(self, batch: pa.Table, epoch: int, keep_alive: Callable[[], None]) -> None:  # noqa: ARG002 - part of the protocol
        """Forget a batch."""
        self.next = epoch + 1

    def check_topics(self) -> None:
        """Check nothing: the pipeline does."""


class _OneMessage:
    """A pace of one message."""

    messages = 1

    def most_next(self, messages: int, size: int) -> int:  # noqa: ARG002 - part of the protocol
        """One message."""
        return 1

    def after(self, messages: int, size: int, seconds: float) -> Self:  # noqa: ARG002 - part of the protocol
        """The same pace."""
        return self
