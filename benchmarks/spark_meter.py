"""The cost of work as Spark reports it. Invariant: only finished work is counted.

The numbers are from Spark's status stores, which exist without its web pages: tasks report the
bytes they read and shuffled, scans report the files they opened. Bytes include all that tasks read:
rows of the state, of intermediate files, and of Delta's log, even if Spark has cached it. Reads by
the driver itself are not included.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

_WAIT_MS = 60_000
_FILES = "number of files read"
_LOG = "_delta_log"
SETTINGS = {
    # Retain all jobs of a run, and do not shorten the paths of scans.
    "spark.ui.retainedJobs": "100000",
    "spark.ui.retainedStages": "100000",
    "spark.sql.ui.retainedExecutions": "20000",
    "spark.sql.maxMetadataStringLength": "1000",
}
"""Settings of a session for measurements."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of some work.

    Attributes:
        seconds: Elapsed time, in the driver.
        jobs: Jobs of Spark.
        tasks: Their tasks.
        read: Bytes of files that tasks read, including Delta's log.
        shuffled: Bytes that tasks wrote for other tasks.
        written: Bytes of files that tasks wrote.
        files: Data files of the state that scans opened.
        busy: Seconds of tasks, summed over all cores.
        processor: Seconds of processor time of this process and of its children, Java among them.
    """

    seconds: float = 0.0
    jobs: int = 0
    tasks: int = 0
    read: int = 0
    shuffled: int = 0
    written: int = 0
    files: int = 0
    busy: float = 0.0
    processor: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """The cost of both."""
        names = [field.name for field in fields(self)]
        return Cost(*(getattr(self, name) + getattr(other, name) for name in names))


class Meter:
    """Reads the cost of work from Spark; the session may have done other work before.

    Args:
        spark: A session in this process, classic and not Connect, with `SETTINGS`.
        state: The folder of the state.
    """

    def __init__(self, spark: SparkSession, state: Path) -> None:
        self._state = str(state)
        self._context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - there is no public access
        self._jobs = self._context.statusStore()
        self._queries = spark._jsparkSession.sharedState().statusStore()  # noqa: SLF001 - as above

    def cost(self, work: Callable[[], object]) -> Cost:
        """Run the work and return its cost."""
        job, before = self._last_job(), self._query_numbers()
        busy, started = processor_time(), time.perf_counter()
        work()
        seconds = time.perf_counter() - started
        busy = processor_time() - busy
        last_job, after = self._last_job(), self._query_numbers()
        done = [self._jobs.job(number) for number in range(job + 1, last_job + 1)]
        stages = [_items(job.stageIds()) for job in done]
        found = [self._stage(number) for number in sorted({n for ids in stages for n in ids})]
        # Query numbers continue across the contexts of a JVM, so the first one is unknown.
        files = sum(self._files(number) for number in after - before)
        return sum(found, Cost(seconds, jobs=len(done), files=files, processor=busy))

    def _last_job(self) -> int:
        """The greatest job id, after all events have arrived; -1 if there is none."""
        self._context.listenerBus().waitUntilEmpty(_WAIT_MS)
        return max((job.jobId() for job in _items(self._jobs.jobsList(None))), default=-1)

    def _query_numbers(self) -> set[int]:
        return {query.executionId() for query in _items(self._queries.executionsList())}

    def _stage(self, number: int) -> Cost:
        """The cost of a stage; nothing if it was skipped."""
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


def processor_time() -> float:
    """Seconds of processor time of this process and of those that it started and that run."""
    this, total = psutil.Process(), 0.0
    for process in (this, *this.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def _items(sequence: Any) -> list[Any]:
    """The items of a Scala sequence."""
    iterator = sequence.iterator()
    found = []
    while iterator.hasNext():
        found.append(iterator.next())
    return found
