"""Reading the committed state. Invariant: rows of a fact and iteration are summed before use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamreasoner.backends.spark import columns
from streamreasoner.backends.spark.columns import (
    ITERATION,
    MULTIPLICITY,
    STRATUM,
    TRANSITION,
    argument,
    arguments,
)
from streamreasoner.backends.spark.outcome import SIZES
from streamreasoner.backends.spark.rows import args_of, trace_of
from streamreasoner.backends.spark.state import consolidated, primary
from streamreasoner.collection.updates import TraceRows
from streamreasoner.engine.ports import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from streamreasoner.backends.spark.state import State
    from streamreasoner.plan.algebra import ProgramPlan


@dataclass(frozen=True, slots=True)
class Reading:
    """Answers questions about the state.

    Attributes:
        state: What is committed.
        plan: The program.
        with_stratum: Adds the stratum of each fact.
        width: Columns of arguments.
    """

    state: State
    plan: ProgramPlan
    with_stratum: Callable[[DataFrame], DataFrame]
    width: int

    def trace(self, predicate: str) -> TraceRows:
        """Every (fact, iteration, multiplicity) of a predicate, in no particular order."""
        arity = self.plan.arities[predicate]
        rows = self._rows(predicate)
        if rows is None:
            none = np.empty(0, np.int64)
            return TraceRows(predicate, np.empty((0, arity), np.int32), none.astype(np.int32), none)
        return trace_of(predicate, arity, rows.filter(F.col(MULTIPLICITY) != 0).toArrow())

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        arity = self.plan.arities[predicate]
        rows = self._rows(predicate)
        if rows is None:
            return np.empty((0, arity), np.int32)
        present = rows.groupBy(*self._fact).agg(F.sum(TRANSITION).alias("present"))
        return args_of(present.filter("present > 0").toArrow(), arity)

    def select(self, predicate: str, bound: Mapping[int, int], iteration: int) -> Selection:
        """The facts of a predicate with these ids at these positions, judged at an iteration."""
        arity = self.plan.arities[predicate]
        keys = None
        if 0 in bound or arity == 0:
            keys = pa.table({argument(0): pa.array([bound.get(0, 0)], pa.int64())})
        rows = self._rows(predicate, keys)
        if rows is None:
            return _described({}, arity)
        for position, value in bound.items():
            rows = rows.filter(F.col(argument(position)) == value)
        table = self.with_stratum(rows).toArrow()
        found: dict[tuple[int, ...], list[tuple[int, int, int, int]]] = {}
        names = [*arguments(arity), STRATUM, ITERATION, MULTIPLICITY, TRANSITION]
        for row in zip(*(table[name].to_pylist() for name in names), strict=True):
            found.setdefault(row[:arity], []).append(row[arity:])
        return _described(
            {args: _judge(sorted(rows), iteration) for args, rows in found.items()}, arity
        )

    def sizes(self) -> NDArray[np.int64]:
        """Size of the state, counted through, in the order of `SIZES`."""
        total = np.zeros(len(SIZES), np.int64)
        for predicate in self.plan.arities:
            rows = self._rows(predicate)
            if rows is None:
                continue
            facts = rows.groupBy(*self._fact).agg(
                F.sum(TRANSITION).alias("present"),
                F.sum(F.when(F.col(ITERATION) == 0, F.col(MULTIPLICITY)).otherwise(0)).alias("a"),
                F.sum(MULTIPLICITY).alias("total"),
                F.sum((F.col(MULTIPLICITY) != 0).cast("long")).alias("counts"),
            )
            shown = F.lit(0 if predicate in self.plan.hidden else 1)
            found = facts.agg(
                F.count("*"),
                F.sum(F.col("present") * shown),
                F.sum((F.col("a") > 0).cast("long")),
                F.sum((F.col("total") < 0).cast("long")),
                F.sum("counts"),
            ).first()
            total += [one or 0 for one in found or ()]
        return total

    @property
    def _fact(self) -> tuple[str, ...]:
        return columns.fact(self.width)

    def _rows(self, predicate: str, keys: pa.Table | None = None) -> DataFrame | None:
        """The trace of a predicate with transitions, summed."""
        arity = self.plan.arities[predicate]
        rows = self.state.read(
            primary(predicate, arity), keys, [argument(0)] if keys is not None and arity else []
        )
        if rows is None:
            return None
        return consolidated(rows, self.width)


def _judge(
    rows: Iterable[tuple[int, int, int, int]], iteration: int
) -> tuple[int, int, int, int, int]:
    """Stratum, since, until, asserted and total of a fact, from its rows by iteration."""
    stratum = asserted = total = present = 0
    since = until = -1
    for own, when, multiplicity, transition in rows:
        stratum = own
        total += multiplicity
        if when == 0:
            asserted = multiplicity
        if when <= iteration:
            present += transition
            since = when if transition > 0 else since
        elif transition < 0 and until < 0:
            until = when
    if not present:
        since = until = -1
    return stratum, since, until, asserted, total


def _described(
    found: Mapping[tuple[int, ...], tuple[int, int, int, int, int]], arity: int
) -> Selection:
    args = np.array(list(found), np.int32).reshape(len(found), arity)
    known = np.array(list(found.values()), np.int64).reshape(len(found), 5)
    times = known[:, :3].astype(np.int32)
    return Selection(args, *times.T, *known[:, 3:].T)
