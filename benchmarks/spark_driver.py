"""Runs the Spark backend and the columnar one through epochs. Invariant: both get the same updates,
and the cost of an epoch is taken from Spark.
"""  # noqa: D205

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamreasoner.backends.spark.backend import SparkBackend
from streamreasoner.backends.spark.tables.distributed_dictionary import DistributedDictionary

from benchmarks.driver import LIMIT, Kernel, digest
from benchmarks.spark_meter import SETTINGS, Meter
from streamreasoner.engine.epoch import Engine
from streamreasoner.io.spark import session
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.load import load_program
from streamreasoner.state.lock import StateLock
from streamreasoner.system import jvm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from benchmarks.spark_meter import Cost
    from streamreasoner.engine.updates import Updates
    from streamreasoner.rdf.dictionary import Dictionary

CORES = 2
MEMORY = {"spark.driver.memory": "2g", "spark.master": f"local[{CORES}]"}
OURS = {**session.WITH_DELTA, **MEMORY, **SETTINGS}
"""Our settings, and those for reading the cost of work from Spark."""
USUAL = {
    **MEMORY,
    **SETTINGS,
    # Spark's defaults, except for a number of partitions that suits few cores.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.sql.shuffle.partitions": str(4 * CORES),
}
"""The settings for recomputing everything with plain Spark."""


@contextmanager
def started(directory: Path, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """A Spark session with its files in a folder and a separate JVM."""
    lock, process_group = StateLock(directory), jvm.ProcessGroup()
    found = None
    try:
        found = session.start("benchmark", directory, settings, lock.descriptor, process_group)
        yield found.spark
    finally:
        if found is not None:
            found.stop()
        process_group.close()
        lock.close()


class SparkKernel:
    """A Spark backend for a program, and a columnar one that runs the same epochs.

    Args:
        spark: A session with `OURS`.
        directory: For the state.
        rules: The program, as text or as the name of a ruleset.
        dictionary: Gives the ids.
    """

    def __init__(
        self, spark: SparkSession, directory: Path, rules: str, dictionary: Dictionary
    ) -> None:
        self.columnar = Kernel(rules, dictionary)
        plan = lower(load_program(rules))
        place = f"file:{directory}"
        terms = DistributedDictionary(spark, f"{place}/terms")
        terms.encode(dictionary.terms(0, len(dictionary)))
        self._backend = SparkBackend(spark, place, plan, terms)
        self._stated = self.columnar.stated
        self._engine = Engine(self._backend, plan, LIMIT, tuple(self._stated))
        self._spark = spark
        self._table = directory / "state"
        self._meter = Meter(spark, directory / "state")
        self._epoch = 0
        self.changed = 0

    def epoch(self, batches: Sequence[Updates]) -> Cost:
        """One epoch, on Spark including reading all changes, and on the columnar backend."""
        cost = self._meter.cost(lambda: self._apply(batches))
        self._epoch += 1
        self.columnar.load(batches)
        return cost

    def _apply(self, batches: Sequence[Updates]) -> None:
        found = self._engine.apply(self._epoch, batches)
        self.changed = sum(len(part.multiplicity) for part in found.closure)

    def size(self) -> dict[str, int]:
        """Bytes of the state, with rows in the driver; rows and files of its table, if any."""
        size = {"state_bytes": self._backend.statistics().bytes, "state_rows": 0, "state_files": 0}
        if not self._table.exists():
            return size
        detail = self._spark.sql(f"DESCRIBE DETAIL delta.`{self._table}`").collect()[0]
        rows = self._spark.read.format("delta").load(str(self._table)).count()
        return {**size, "state_rows": rows, "state_files": int(detail.numFiles)}

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, as ids."""
        return self._backend.facts(predicate)

    def equal(self, predicates: Sequence[str]) -> bool:
        """Whether both backends have the same trace: facts, iterations and multiplicities."""
        ours = digest(map(self._backend.trace, predicates))
        return ours == self.columnar.digest(predicates)
