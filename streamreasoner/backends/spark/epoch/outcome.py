"""The changes of an epoch, fact by fact. Invariant: the driver has one block of them at a time.

The epoch has loaded the committed rows of every fact it touches. A fact's previous state is the sum
of these rows; its current state adds the differences.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from streamreasoner.backends.spark.epoch import arrow_tables
from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import CLOSURE, DERIVED, ITERATION
from streamreasoner.engine.blocks import Blocks
from streamreasoner.engine.ports import EpochChanges, Statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from streamreasoner.backends.spark.queries.encoded_program import EncodedProgram
    from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
    from streamreasoner.engine.updates import Changes, TraceRows

T = TypeVar("T")
_OTHERS = frozenset({"bytes", "overflows", "capacity"})
SIZES = tuple(field.name for field in fields(Statistics) if field.name not in _OTHERS)
"""Statistics computed from the rows of a state, in this order."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The changes of an epoch.

    Attributes:
        program: The program.
        differences: By fact and iteration, of multiplicities and transitions.
        facts: By fact: its current values less the previous ones.
    """

    program: EncodedProgram
    differences: SparkRows
    facts: SparkRows

    @classmethod
    def of(
        cls,
        runner: QueryRunner,
        program: EncodedProgram,
        differences: SparkRows,
        known: SparkRows,
    ) -> Outcome:
        """Compute the changes of an epoch.

        Args:
            runner: Runs the queries.
            program: The program.
            differences: By fact and iteration, of multiplicities and transitions.
            known: Committed rows, in the same columns, of these facts and possibly of others.
        """
        if differences.empty:
            return cls(program, differences, differences)
        fact = program.fact
        summed = runner.query(
            sql.by_iteration((*fact, ITERATION)), known=known, differences=differences
        )
        facts = runner.query(sql.by_fact(fact), rows=summed)
        changed = runner.query(sql.changes(fact, sorted(program.plan.hidden)), rows=facts)
        return cls(program, differences, runner.materialize(changed))

    def changes(self) -> EpochChanges:
        """The changes, in the form of the port."""
        return EpochChanges(
            _blocks(self.facts, lambda: self._changes(DERIVED)),
            _blocks(self.facts, lambda: self._changes(CLOSURE)),
            _blocks(self.differences, self._trace),
        )

    def sizes(self) -> NDArray[np.int64]:
        """By how much the state has grown, in the order of `SIZES`."""
        if self.facts.empty:
            return np.zeros(len(SIZES), np.int64)
        if self.facts.table is not None:
            return np.array([pc.sum(self.facts.table[name]).as_py() for name in SIZES])
        return np.array(self.facts.frame.agg(*map(F.sum, SIZES)).first())

    def _changes(self, sign: str) -> Iterator[Changes]:
        for block in self.facts.blocks():
            yield from arrow_tables.changes(block, sign, self.program.plan.arities)

    def _trace(self) -> Iterator[TraceRows]:
        for block in self.differences.blocks():
            yield from arrow_tables.traces(block, self.program.plan.arities)


def _blocks(rows: SparkRows, make: Callable[[], Iterator[T]]) -> Iterable[T]:
    """A tuple if rows are few; if many, an iterable that makes one block at a time."""
    if rows.empty:
        return ()
    return Blocks(make) if rows.table is None else tuple(make())
