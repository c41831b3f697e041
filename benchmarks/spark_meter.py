"""The cost of work as Spark reports it. Invariant: only finished work is counted.

The numbers are from Spark's status stores, which exist without its web pages: tasks report the
bytes they read and shuffled, scans the files they opened. Bytes are all that tasks read: rows of
the state, of intermediate files, and of Delta's log, even if Spark has cached it. Reads by the
driver itself are not included.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

_WAIT_MS = 60_000
_FILES = "number of files read"
_LOG = "_delta_log"
SETTINGS = {
    # All jobs of a run are remembered, and where a scan reads is written out.
    "spark.ui.retainedJobs": "100000",
    "spark.ui.retainedStages": "100000",
    "spark.sql.ui.retainedExecutions": "20000",
    "spark.sql.maxMetadataStringLength": "1000",
}
"""Settings of a session that can be measured."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What some work has cost.

    Attributes:
        seconds: By the clock, in the driver.
        jobs: Jobs of Spark.
        tasks: Their tasks.
        read: Bytes of files that tasks read, Delta's log included.
        shuffled: Bytes that tasks wrote for other tasks.
        written: Bytes of files that tasks wrote.
        files: Data files of the state that scans opened.
        busy: Seconds of tasks, of all processors together.
    """

    seconds: float = 0.0
    jobs: int = 0
    tasks: int = 0
    read: int = 0
    shuffled: int = 0
    written: int = 0
    files: int = 0
    busy: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """The cost of both."""
        names = [field.name for field in fields(self)]
        return Cost(*(getattr(self, name) + getattr(other, name) for name in names))


class Meter:
    """Asks Spark what work has cost; the session may have done other work before.

    Args:
        spark: A session in this process, classic and not Connect, with `SETTINGS`.
        state: Folder of the state.
    """

    def __init__(self, spark: SparkSession, state: Path) -> None:
        self._state = str(state)
        self._context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - there is no other access
        self._jobs = self._context.statusStore()
        self._queries = spark._jsparkSession.sharedState().statusStore()  # noqa: SLF001 - as above

    def cost(self, work: Callable[[], object]) -> Cost:
        """Run the work and return its cost."""
        job, before = self._last_job(), self._query_numbers()
        started = time.perf_counter()
        work()
        seconds = time.perf_counter() - started
        last_job, after = self._last_job(), self._query_numbers()
        done = [self._jobs.job(number) for number in range(job + 1, last_job + 1)]
        stages = [_items(job.stageIds()) for job in done]
        found = [self._stage(number) for number in sorted({n for ids in stages for n in ids})]
        # The numbers of queries go on from context to context of a JVM, and so have no first one.
        files = sum(self._files(number) for number in after - before)
        return sum(found, Cost(seconds, jobs=len(done), files=files))

    def _last_job(self) -> int:
        """The greatest number of a job, after all events have arrived; -1 if there is none."""
        self._context.listenerBus().waitUntilEmpty(_WAIT_MS)
        return max((job.jobId() for job in _items(self._jobs.jobsList(None))), default=-1)

    def _query_numbers(self) -> set[int]:
        return {query.executionId() for query in _items(self._queries.executionsList())}

    def _stage(self, number: int) -> Cost:
        """What a stage has cost; nothing if it did not have to run."""
        attempt = self._jobs.lastStageAttempt(number)
        return Cost(
            tasks=attempt.numCompleteTasks(),
            read=attempt.inputBytes(),
            shuffled=attempt.shuffleWriteBytes(),
            written=attempt.outputBytes(),
            busy=attempt.executorRunTime() / 1e3,
        )

    def _files(self, number: int) -> int:
        """Data files of the state that a query opened."""
        found = 0
        values = self._queries.executionMetrics(number)
        for node in _items(self._queries.planGraph(number).allNodes()):
            if self._state not in node.desc() or _LOG in node.desc():
                continue
            for metric in _items(node.metrics()):
                if metric.name() == _FILES:
                    value = values.get(metric.accumulatorId())
                    found += int(value.get().replace(",", "")) if value.isDefined() else 0
        return found


def _items(sequence: Any) -> list[Any]:
    """The items of a sequence of Scala."""
    iterator = sequence.iterator()
    found = []
    while iterator.hasNext():
        found.append(iterator.next())
    return found
