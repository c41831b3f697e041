"""Queries on the committed state. Invariant: rows of a fact and iteration are summed before use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.backends.spark.epoch.arrow_tables import args_of, trace_of
from streamreasoner.backends.spark.epoch.outcome import SIZES
from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    MULTIPLICITY,
    PREDICATE,
    STRATUM,
    TRANSITION,
    argument,
    arguments,
)
from streamreasoner.backends.spark.tables.places import primary
from streamreasoner.engine.ports import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from streamreasoner.backends.spark.queries.encoded_program import EncodedProgram
    from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
    from streamreasoner.backends.spark.tables.committed import CommittedState
    from streamreasoner.engine.updates import TraceRows


@dataclass(frozen=True, slots=True)
class StateReader:
    """Answers queries on the state.

    Attributes:
        runner: Runs the queries.
        state: The committed state.
        program: The program.
    """

    runner: QueryRunner
    state: CommittedState
    program: EncodedProgram

    def trace(self, predicate: str) -> TraceRows:
        """Every (fact, iteration, multiplicity) of a predicate, in no particular order."""
        arity = self.program.plan.arities[predicate]
        rows = self.runner.query(sql.filtered(f"{MULTIPLICITY} != 0"), rows=self._rows(predicate))
        return trace_of(predicate, arity, self.runner.fetch(rows))

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        present = self.runner.query(sql.present(self.program.fact), rows=self._rows(predicate))
        return args_of(self.runner.fetch(present), self.program.plan.arities[predicate])

    def present(
        self, predicate: str, bound: Mapping[int, int], changed: SparkRows
    ) -> NDArray[np.int32]:
        """The present facts with these ids at these positions, once transitions have changed.

        Args:
            predicate: Their predicate.
            bound: Id by position.
            changed: Differences of transitions, by fact and iteration.
        """
        of = {PREDICATE: predicate} | {argument(at): each for at, each in bound.items()}
        names = (*self.program.fact, TRANSITION)
        rows = [part.where(**of) for part in (self._rows(predicate), changed)]
        present = self.runner.query(
            sql.present(self.program.fact), rows=self.runner.union(rows, names)
        )
        return args_of(self.runner.fetch(present), self.program.plan.arities[predicate])

    def asserted(self, predicate: str, args: NDArray[np.int32]) -> NDArray[np.int64]:
        """Multiplicities at iteration 0 of distinct facts, int64 of shape (n,)."""
        multiplicities = np.zeros(len(args), np.int64)
        if not len(args):
            return multiplicities
        names = arguments(args.shape[1])
        keys = pa.table(
            {name: pa.array(args[:, i].astype(np.int64)) for i, name in enumerate(names)}
        )
        at_zero = self.runner.query(
            sql.filtered(f"{ITERATION} = 0", f"{MULTIPLICITY} != 0"),
            rows=self._rows(predicate, keys if names else None),
        )
        found = self.runner.fetch(at_zero).select([*names, MULTIPLICITY])
        if not names:  # a table without columns has no rows
            multiplicities[:] = sum(found[MULTIPLICITY].to_pylist())
            return multiplicities
        row = pa.array(np.arange(len(args)))
        joined = keys.append_column("row", row).join(found, list(names), join_type="inner")
        multiplicities[joined["row"].to_numpy()] = joined[MULTIPLICITY].to_numpy()
        return multiplicities

    def members(self, predicate: str, keys: NDArray[np.int32]) -> NDArray[np.int32]:
        """The present facts that begin with one of these ids, int32 of shape (n, arity)."""
        arity = self.program.plan.arities[predicate]
        if not len(keys):
            return np.empty((0, arity), np.int32)
        wanted = pa.table({argument(0): pa.array(keys.astype(np.int64))})
        present = self.runner.query(
            sql.present(self.program.fact), rows=self._rows(predicate, wanted)
        )
        # What is read may hold facts of other keys.
        found = args_of(self.runner.fetch(present), arity)
        return found[np.isin(found[:, 0], keys)]

    def select(self, predicate: str, bound: Mapping[int, int], iteration: int) -> Selection:
        """The facts of a predicate with these ids at these positions, as of an iteration."""
        arity = self.program.plan.arities[predicate]
        keys = None
        if 0 in bound:
            keys = pa.table({argument(p): pa.array([i], pa.int64()) for p, i in bound.items()})
        tests = [f"{argument(position)} = {value}" for position, value in bound.items()]
        matching = self.runner.query(
            sql.extended(self.program.stratum_of, STRATUM, *tests), rows=self._rows(predicate, keys)
        )
        table = matching.arrow()
        by_fact: dict[tuple[int, ...], list[tuple[int, int, int, int]]] = {}
        names = [*arguments(arity), STRATUM, ITERATION, MULTIPLICITY, TRANSITION]
        for row in zip(*(table[name].to_pylist() for name in names), strict=True):
            by_fact.setdefault(row[:arity], []).append(row[arity:])
        return _selection(
            {args: _state_at(sorted(rows), iteration) for args, rows in by_fact.items()}, arity
        )

    def sizes(self) -> NDArray[np.int64]:
        """Size of the state, by a full count, in the order of `SIZES`."""
        sizes = np.zeros(len(SIZES), np.int64)
        for predicate in self.program.plan.arities:
            shown = predicate not in self.program.plan.hidden
            counted = self.runner.query(
                sql.sizes(self.program.fact, shown=shown), rows=self._rows(predicate)
            )
            table = self.runner.fetch(counted)
            sizes += [table[name][0].as_py() or 0 for name in SIZES]
        return sizes

    def _rows(self, predicate: str, keys: pa.Table | None = None) -> SparkRows:
        """The trace of a predicate with transitions, consolidated."""
        arity = self.program.plan.arities[predicate]
        columns_of_keys = set(keys.column_names if keys is not None else ())
        names = {p: argument(p) for p in range(arity) if argument(p) in columns_of_keys}
        parts = self.state.read(primary(predicate, arity), keys, names)
        rows = (*self.program.fact, ITERATION, MULTIPLICITY, TRANSITION)
        return self.runner.consolidated(self.runner.union(parts, rows), self.program.width)


def _state_at(
    rows: Iterable[tuple[int, int, int, int]], iteration: int
) -> tuple[int, int, int, int, int]:
    """Stratum, since, until, asserted and total of a fact, from its rows by iteration."""
    stratum = asserted = total = present = 0
    since = until = -1
    for stratum_of_row, at, multiplicity, transition in rows:
        stratum = stratum_of_row
        total += multiplicity
        if at == 0:
            asserted = multiplicity
        if at <= iteration:
            present += transition
            since = at if transition > 0 else since
        elif transition < 0 and until < 0:
            until = at
    if not present:
        since = until = -1
    return stratum, since, until, asserted, total


def _selection(
    states: Mapping[tuple[int, ...], tuple[int, int, int, int, int]], arity: int
) -> Selection:
    args = np.array(list(states), np.int32).reshape(len(states), arity)
    values = np.array(list(states.values()), np.int64).reshape(len(states), 5)
    times = values[:, :3].astype(np.int32)
    return Selection(args, *times.T, *values[:, 3:].T)
