"""Tasks of Spark that are held for as long as a pipeline runs.

Invariant: all of them run, or none. A barrier stage starts its tasks at the same time, where there
are executors with free slots, and ends all of them when one ends badly.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import BarrierTaskContext
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark import SparkContext

_GROUP = "streamreasoner-parts"
_END_SECONDS = 10.0

HELD = {
    # How often Spark looks for enough free slots, and how many times before it gives up.
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "2s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "60",
}
"""Settings of a session that holds tasks."""


class HeldTasks:
    """Holds tasks until it is closed.

    Args:
        context: Starts them.
        count: How many there are.
        task: What each of them runs: called with its number, the host of its executor, and how
            often the stage was started before.
        ended: Called in another thread when they have ended before `close`, with what Spark says.
    """

    def __init__(
        self,
        context: SparkContext,
        count: int,
        task: Callable[[int, str, int], None],
        ended: Callable[[str], None],
    ) -> None:
        self._context = context
        self._rows = context.parallelize(range(count), count)
        self._task, self._ended = task, ended
        self._is_closed = False
        self._thread = threading.Thread(target=self._hold, name="held-tasks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for the tasks, which end when what they wait for is gone."""
        self._is_closed = True
        self._thread.join(_END_SECONDS)
        with suppress(Py4JError, OSError):
            self._context.cancelJobGroup(_GROUP)

    def _hold(self) -> None:
        task = self._task

        def run(numbers: Iterable[int]) -> Iterable[int]:
            context = BarrierTaskContext.get()
            number = context.partitionId()
            host = context.getTaskInfos()[number].address.rpartition(":")[0]
            with without_jars():
                task(number, host, context.attemptNumber())
            return numbers

        try:
            self._context.setJobGroup(_GROUP, "Parts of the state", interruptOnCancel=True)
            self._rows.barrier().mapPartitions(run).collect()
            said = "The tasks have ended."
        except Py4JJavaError as error:
            said = _without_frames(error.java_exception.getMessage())
        except (PySparkException, Py4JError, OSError) as error:
            said = str(error)
        if not self._is_closed:
            self._ended(said)


@contextmanager
def without_jars() -> Iterator[None]:
    """Leave Spark's jars out of the path of imports.

    Numba looks for entry points in all of it, and a list of what is in the jars takes longer than
    all else that a task does before its first step.
    """
    whole = sys.path
    sys.path = [place for place in whole if not place.endswith(".jar")]
    try:
        yield
    finally:
        sys.path = whole


def _without_frames(message: str) -> str:
    """What Spark says first, and the error of Python that it says it about, if there is one."""
    lines = [line.strip() for line in message.splitlines()]
    first, *others = [line for line in lines if line and not line.startswith(("at ", "File "))]
    return " ".join([first, *others[-1:]])
