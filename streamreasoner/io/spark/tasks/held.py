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

from streamreasoner.errors import SparkDiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark import SparkContext

_GROUP = "streamreasoner-parts"
_END_SECONDS = 10.0
# What Spark writes about a task whose executor has died.
_LOST = "ExecutorLostFailure"

HELD = {
    # How often Spark looks for enough free slots, and how many times before it gives up.
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "2s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "60",
    # YARN and Kubernetes end an application that has lost too many executors, of all its life.
    "spark.executor.failuresValidityInterval": "1h",
}
"""Settings of a session that holds tasks."""


def room(context: SparkContext) -> int:
    """How many tasks the executors that there are can run at a time.

    Raises:
        SparkDiedError: Spark does not answer.
    """
    with _answering():
        java = context._jsc.sc()  # noqa: SLF001 - PySpark tells only how many there should be
        return int(
            java.maxNumConcurrentTasks(java.resourceProfileManager().defaultResourceProfile())
        )


def settings(context: SparkContext) -> dict[str, str]:
    """The settings of Spark.

    Raises:
        SparkDiedError: Spark does not answer.
    """
    with _answering():
        return dict(context.getConf().getAll())


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (Py4JError, OSError) as error:
        raise SparkDiedError("Spark's Java process does not answer.") from error


class HeldTasks:
    """Holds tasks until it is closed.

    Args:
        context: Starts them.
        count: How many there are.
        task: What each of them runs: called with its number, the host of its executor, and how
            often the stage was started before.
        ended: Called in another thread when they have ended before `close`, with what Spark says;
            None if they have ended with Spark, or with an executor.

    Raises:
        SparkDiedError: Spark does not answer.
    """

    def __init__(
        self,
        context: SparkContext,
        count: int,
        task: Callable[[int, str, int], None],
        ended: Callable[[str | None], None],
    ) -> None:
        self._context = context
        with _answering():
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
            said: str | None = "The tasks have ended."
        except Py4JJavaError as error:
            message = error.java_exception.getMessage()
            said = None if _LOST in message else _without_frames(message)
        except PySparkException as error:
            said = str(error)
        except (Py4JError, OSError):
            said = None
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
