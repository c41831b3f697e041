"""The engine's port over DataFrames. Invariant: the state is never in the driver.

An epoch keeps two piles of differences: of multiplicities, and of the transitions that follow from
them. Both are by fact and iteration; the state that was committed before the epoch is only read.
Every iteration is settled once, in ascending order: multiplicities up to it are final then.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamreasoner.backends.spark import aggregates, columns
from streamreasoner.backends.spark.aggregates import OLD, RANK
from streamreasoner.backends.spark.change import Change, following
from streamreasoner.backends.spark.columns import (
    EPOCH,
    ITERATION,
    LATTICE,
    MULTIPLICITY,
    PREDICATE,
    STRATUM,
    TRANSITION,
    argument,
    arguments,
)
from streamreasoner.backends.spark.leaves import Leaves
from streamreasoner.backends.spark.outcome import SIZES, Outcome
from streamreasoner.backends.spark.patterns import encode, first_that_holds, heads
from streamreasoner.backends.spark.reading import Reading
from streamreasoner.backends.spark.relation import Pile, Steps
from streamreasoner.backends.spark.state import State, consolidated, primary
from streamreasoner.backends.spark.terms import Terms
from streamreasoner.collection.updates import MAX_MULTIPLICITY, Updates, check_arity
from streamreasoner.engine.evaluate import evaluate
from streamreasoner.engine.ports import LAST_ITERATION, Statistics
from streamreasoner.errors import MultiplicityOverflowError
from streamreasoner.plan.algebra import Age

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from streamreasoner.backends.spark.dictionary import DistributedDictionary
    from streamreasoner.backends.spark.relation import Relation
    from streamreasoner.collection.updates import TraceRows
    from streamreasoner.engine.ports import EpochChanges, Selection
    from streamreasoner.plan.algebra import Arrangement, Lattice, ProgramPlan

_ALL = range(LAST_ITERATION)
_PLAIN = -1
DEFAULT_BUCKETS = 256


class SparkBackend:
    """Holds the state in a Delta table.

    Args:
        spark: A session with Delta Lake.
        directory: Where the state and the files of an epoch are, as Hadoop says it; all executors
            must reach it.
        plan: The program.
        dictionary: Terms and their ids.
        buckets: Buckets of an arrangement.
    """

    def __init__(
        self,
        spark: SparkSession,
        directory: str,
        plan: ProgramPlan,
        dictionary: DistributedDictionary,
        buckets: int = DEFAULT_BUCKETS,
    ) -> None:
        self._dictionary = dictionary
        self._steps = Steps(spark, f"{directory}/steps")
        self._terms = Terms(self._steps, dictionary)
        self._state = State(spark, f"{directory}/state", dictionary.intern, buckets)
        self._sizes: NDArray[np.int64] | None = np.zeros(len(SIZES), np.int64)
        self._use(plan)
        self._begin()

    def _use(self, plan: ProgramPlan) -> None:
        """Read and keep the state as a program needs it, from an epoch's beginning on."""
        intern = self._dictionary.intern
        self._constants = pa.array(plan.constants, pa.large_string())
        self._dictionary.encode(self._constants)
        self._plan = plan
        self._width = max(1, *plan.arities.values())
        self._fact = columns.fact(self._width)
        self._strata = heads(plan, intern)
        self._lattices = [
            (one.pattern.predicate, encode(one.pattern, intern), number)
            for number, one in enumerate(plan.lattices)
        ]
        meaning = repr((self._strata, self._lattices, plan.lattices))
        self._state.use(self._width, _arrangements(plan), meaning)
        self._reading = Reading(self._state, plan, self._with_stratum, self._width)

    def _begin(self) -> None:
        """Forget what an epoch has found; the dictionary may have forgotten the constants."""
        self._before: ProgramPlan | None = None
        self._dictionary.encode(self._constants)
        self._steps.begin()
        self._input: list[pa.Table] = []
        place = (*self._fact, STRATUM, LATTICE, ITERATION)
        self._counts = Pile(self._steps, (*place, MULTIPLICITY))
        self._transitions = Pile(self._steps, (*place, TRANSITION))
        # What the state says of the facts, and groups of lattices, that the epoch touches.
        self._known = Pile(self._steps, (*place, MULTIPLICITY, TRANSITION))
        self._result: Outcome | None = None
        self._stratum = 0

    # Input ---------------------------------------------------------------------------------------

    def add(self, updates: Updates) -> None:
        """Add asserted multiplicities, at iteration 0 of the stratum each fact belongs to."""
        arity = check_arity(updates.predicate, updates.args, self._plan.arities)
        rows = len(updates.multiplicity)
        data = {PREDICATE: pa.array([updates.predicate], pa.string()).take(np.zeros(rows, int))}
        for position in range(self._width):
            ids = updates.args[:, position] if position < arity else np.zeros(rows)
            data[argument(position)] = pa.array(ids.astype(np.int64))
        data[ITERATION] = pa.array(np.zeros(rows, np.int32))
        data[MULTIPLICITY] = pa.array(np.ascontiguousarray(updates.multiplicity))
        self._input.append(pa.table(data))

    def adopt(self, plan: ProgramPlan) -> None:
        """Go on with another program; what it derives differently is settled in this epoch."""
        before = self._plan
        self._use(following(before, plan))
        self._begin()
        self._before = before
        if self._state.empty:
            return
        change = Change(
            self._steps,
            self._state,
            self._terms,
            before=before,
            after=self._plan,
            width=self._width,
        )
        derived = self._steps.union(change.derived(), (*self._fact, ITERATION, MULTIPLICITY))
        if not derived.empty:
            self._add_counts(derived.frame)
        if (judged := change.judged_otherwise()) is not None:
            lattice = F.expr(first_that_holds(self._lattices, _PLAIN))
            self._known.add(
                self._steps.cut(self._with_stratum(judged.withColumn(LATTICE, lattice)))
            )
        if (missing := self._state.missing()) is not None:
            self._steps.few(missing)

    # A stratum -----------------------------------------------------------------------------------

    def enter(self, stratum: int) -> int:
        """Start a stratum with the final changes of those before it as deltas at iteration 0."""
        self._stratum = stratum
        if self._input:
            rows = self._steps.local(pa.concat_tables(self._input))
            self._input = []
            self._add_counts(rows.frame)
        if stratum > 0:
            self._reduce(stratum)
            if not self._transitions.select(range(stratum), _ALL).empty:
                return 0
        self._iteration = -1
        return self.next_touched()

    def settle(self, iteration: int) -> int:
        """Step 1: transitions at *iteration* from the counts; returns the number of deltas."""
        self._iteration = iteration
        own = range(self._stratum, self._stratum + 1)
        now = range(iteration, iteration + 1)
        touched = self._counts.select(own, now)
        self._learn(touched)
        place = (*self._fact, LATTICE)
        near = self._steps.union((touched, self._known.select(own, now)), place).distinct(place)
        if near.empty:
            return self._delta_of((), iteration)
        counts = self._counts.select(own, range(iteration + 1))
        known = self._known.select(own, range(iteration + 1))
        here = f"{ITERATION} = {iteration}"
        rows = (
            self._within(near, counts)
            .selectExpr(*place, ITERATION, MULTIPLICITY, f"0L AS {TRANSITION}")
            .unionAll(known.frame.select(*place, ITERATION, MULTIPLICITY, TRANSITION))
            .groupBy(*place)
            .agg(
                F.expr(f"sum({MULTIPLICITY}) AS upto"),
                F.expr(f"sum(IF({here}, 0, {MULTIPLICITY})) AS before"),
                F.expr(f"sum(IF({here}, {TRANSITION}, 0)) AS {TRANSITION}"),
            )
        )
        change = f"CAST(upto > 0 AS BIGINT) - CAST(before > 0 AS BIGINT) - {TRANSITION}"
        changed = rows.filter(f"{LATTICE} = {_PLAIN}").selectExpr(
            *place, "upto", "before", f"{change} AS {TRANSITION}"
        )
        for number, lattice in enumerate(self._plan.lattices):
            if all(pile.where(lattice=number).empty for pile in (counts, known)):
                continue
            candidates = self._steps.cut(rows.filter(F.col(LATTICE) == number))
            changed = changed.unionAll(self._compete(lattice, candidates))
        overflow = f"abs(upto - before) > {MAX_MULTIPLICITY}"
        found = self._steps.cut(
            changed.filter(f"{TRANSITION} != 0 OR {overflow}").selectExpr(
                *place,
                f"{self._stratum} AS {STRATUM}",
                f"{iteration} AS {ITERATION}",
                TRANSITION,
                f"{overflow} AS overflow",
            )
        )
        self._check_overflow(found)
        self._transitions.add(found)
        return self._delta_of((found,), iteration)

    def _within(self, near: Relation, counts: Relation) -> DataFrame:
        """Counts without the many of facts that an iteration cannot change; groups stay whole."""
        if near.table is None or counts.table is not None:
            return counts.frame
        place = [*self._fact, LATTICE]
        found = counts.frame.join(F.broadcast(near.frame), place, "left_semi")
        if not self._plan.lattices:
            return found
        return found.filter(F.col(LATTICE) == _PLAIN).unionAll(
            counts.frame.filter(F.col(LATTICE) != _PLAIN)
        )

    def _delta_of(self, own: Iterable[Relation], iteration: int) -> int:
        """Keep what `derive` is driven by, at iteration 0 lower strata too; returns its size."""
        below = self._transitions.select(range(self._stratum if iteration == 0 else 0), _ALL)
        self._delta = self._steps.union((*own, below), (*self._fact, TRANSITION))
        if self._delta.table is not None:
            return int(self._delta.table.num_rows)
        return self._delta.frame.count()

    def derive(self, iteration: int) -> None:
        """Steps 2 and 3: the deltas through the stratum's plans, heads touched later on."""
        if self._stratum == 0:
            return
        leaves = Leaves(
            steps=self._steps,
            state=self._state,
            terms=self._terms,
            delta_rows=self._delta,
            overlay=self._overlay,
            stratum=self._stratum,
            stratum_of=self._with_stratum,
            iteration=iteration,
            width=self._width,
        )
        found = [evaluate(plan, leaves) for plan in self._plan.strata[self._stratum - 1].plans]
        derived = self._steps.union(found, (*self._fact, ITERATION, MULTIPLICITY))
        if not derived.empty:
            self._add_counts(derived.frame)

    def next_touched(self) -> int:
        """The next iteration with touched facts, or -1 if the stratum is done."""
        piles = (self._counts, self._known)
        later = [pile.following(self._stratum, self._iteration) for pile in piles]
        return min((one for one in later if one >= 0), default=-1)

    def _add_counts(self, rows: DataFrame) -> None:
        """Sum differences of multiplicities by fact and iteration, and add them to the pile."""
        # Wider than a multiplicity, so that what is too large is seen.
        summed = (
            rows.groupBy(*self._fact, ITERATION)
            .agg(F.expr(f"sum(CAST({MULTIPLICITY} AS DECIMAL(38, 0))) AS total"))
            .filter("total != 0")
        )
        found = self._steps.cut(
            summed.selectExpr(
                *self._fact,
                f"{first_that_holds(self._strata, 0)} AS {STRATUM}",
                f"{first_that_holds(self._lattices, _PLAIN)} AS {LATTICE}",
                ITERATION,
                f"CAST(IF(abs(total) > {MAX_MULTIPLICITY}, 0, total) AS BIGINT) AS {MULTIPLICITY}",
                f"abs(total) > {MAX_MULTIPLICITY} AS overflow",
            )
        )
        self._check_overflow(found)
        self._counts.add(found)

    def _learn(self, touched: Relation) -> None:
        """Read what the state says of touched facts, or of their groups, unless it is known."""
        if self._state.empty or touched.empty:
            return
        parts = []
        for arrangement, lattice in self._groupings():
            key = [argument(position) for position in arrangement.key]
            on = [PREDICATE, *(key if lattice != _PLAIN else arguments(self._width))]
            of = {PREDICATE: arrangement.predicate, LATTICE: lattice}
            keys = touched.where(**of).distinct(on)
            rows = None if keys.empty else self._state.read(arrangement, keys.table, key)
            if rows is None:
                continue
            fresh = keys.frame
            known = self._known.everything().where(**of)
            if not known.empty:
                fresh = fresh.join(known.frame.select(*on).distinct(), on, "left_anti")
            if keys.table is not None:
                fresh = F.broadcast(fresh)
            summed = consolidated(rows.join(fresh, on, "left_semi"), self._width)
            parts.append(summed.selectExpr("*", f"{lattice} AS {LATTICE}"))
        if parts:
            found = reduce(lambda one, other: one.unionAll(other), parts)
            self._known.add(self._steps.cut(self._with_stratum(found)))

    def _groupings(self) -> Iterable[tuple[Arrangement, int]]:
        """The arrangements that facts, or the groups of lattices, are found in."""
        for predicate, arity in self._plan.arities.items():
            yield primary(predicate, arity), _PLAIN
        for number, lattice in enumerate(self._plan.lattices):
            yield aggregates.group_of_lattice(lattice), number

    def _compete(self, lattice: Lattice, candidates: Relation) -> DataFrame:
        """Changed transitions of candidates: the winner takes over from the one before it."""
        group = [argument(p) for p in lattice.key]
        value = argument(lattice.position)
        rows = aggregates.with_ranks(self._steps, self._terms, candidates, value)
        best = f"{lattice.function}_by"
        winners = rows.groupBy(PREDICATE, *group).agg(
            F.expr(f"{best}({value}, IF(upto > 0, {RANK}, NULL)) AS winner"),
            F.expr(f"{best}({value}, IF(before > 0, {RANK}, NULL)) AS former"),
        )
        wins = f"CAST(upto > 0 AND {value} <=> winner AS BIGINT)"
        won = f"CAST(before > 0 AND {value} <=> former AS BIGINT)"
        return rows.join(winners, [PREDICATE, *group]).selectExpr(
            *self._fact, LATTICE, "upto", "before", f"{wins} - {won} - {TRANSITION} AS {TRANSITION}"
        )

    def _reduce(self, stratum: int) -> None:
        """Bring the aggregates that a stratum derives up to date."""
        for reduction in self._plan.strata[stratum - 1].reductions:
            changed = self._counts.select(range(stratum), _ALL).where(
                predicate=reduction.candidates
            )
            if changed.empty:
                continue
            group = aggregates.group_of_reduction(reduction)
            key = [argument(p) for p in reduction.key]
            touched = changed.distinct(key) if key else changed
            cells = arguments(self._width)
            rows = changed.frame.select(*cells, F.lit(0).cast("long").alias(OLD), MULTIPLICITY)
            kept = self._state.read(group, touched.table, key)
            if kept is not None:
                few = F.broadcast(touched.frame) if touched.table is not None else touched.frame
                members = kept.join(few, key, "left_semi") if key else kept
                rows = rows.unionAll(
                    members.select(*cells, F.col(MULTIPLICITY).alias(OLD), MULTIPLICITY)
                )
            summed = rows.groupBy(*cells).agg(
                F.sum(OLD).alias(OLD), F.sum(MULTIPLICITY).alias(MULTIPLICITY)
            )
            heads = aggregates.results(
                self._steps, self._terms, reduction, self._steps.cut(summed), self._width
            )
            if heads is not None:
                self._add_counts(heads)

    def _overlay(self, age: Age) -> Relation:
        """The transitions that changed, as a join sees them that reads old or new ones."""
        iteration = self._iteration
        names = (*self._fact, STRATUM, ITERATION, TRANSITION)
        upto = iteration + (age is Age.NEW)
        parts = [
            self._transitions.select(range(self._stratum, self._stratum + 1), range(upto)),
        ]
        if upto > 0:
            parts.append(self._transitions.select(range(self._stratum), _ALL))
        return self._steps.union(parts, names)

    def _with_stratum(self, frame: DataFrame) -> DataFrame:
        return frame.withColumn(STRATUM, F.expr(first_that_holds(self._strata, 0)))

    @staticmethod
    def _check_overflow(found: Relation) -> None:
        if found.table is not None:
            wrong = any(found.table["overflow"].to_pylist())
        else:
            wrong = not found.frame.filter("overflow").isEmpty()
        if wrong:
            raise MultiplicityOverflowError

    # The end of an epoch -------------------------------------------------------------------------

    def _outcome(self) -> Outcome:
        """What the epoch changes, computed once."""
        if self._result is None:
            place = (*self._fact, ITERATION)
            none = F.lit(0).cast("long")
            counts = self._counts.everything().frame
            transitions = self._transitions.everything().frame
            rows = counts.select(*place, MULTIPLICITY, none.alias(TRANSITION)).unionAll(
                transitions.select(*place, none.alias(MULTIPLICITY), TRANSITION)
            )
            differences = self._steps.cut(consolidated(rows, self._width))
            self._result = Outcome.of(
                self._steps, self._plan, self._fact, differences, self._known.everything()
            )
        return self._result

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        return self._outcome().changes()

    def commit(self, epoch: int) -> None:
        """Append the epoch to the state, unless it is there from a process that died since."""
        outcome = self._outcome()
        self._state.append(outcome.differences.frame, epoch)
        if self._sizes is not None:
            self._sizes = self._sizes + outcome.sizes()
        self._dictionary.settle()
        self._begin()

    def rollback(self) -> None:
        """Undo the epoch wholly: nothing of it is in the state."""
        if self._before is not None:
            self._use(self._before)
        self._begin()

    # Reading -------------------------------------------------------------------------------------

    def restore(self, rows: Iterable[TraceRows]) -> None:
        """Take the trace of an earlier run into an empty state."""
        for batch in rows:
            self.add(Updates(batch.predicate, batch.args, batch.multiplicity))
            self._input[-1] = self._input[-1].set_column(
                self._input[-1].schema.get_field_index(ITERATION),
                ITERATION,
                pa.array(batch.iteration, pa.int32()),
            )
        if self._input:
            self._rebuild(self._steps.local(pa.concat_tables(self._input)).frame, 0)

    def resume(self, trace: Path, before: int) -> None:
        """Go on with the state of the epochs below *before*, built from their trace if need be.

        Args:
            trace: A Delta table of the trace, which the driver reaches; executors need not.
            before: The next epoch.
        """
        if before == 0:
            return
        self._sizes = None
        if self._state.open(before):
            return
        self._state.clear()
        rows = self._steps.spark.read.format("delta").load(self._steps.reachable(trace))
        kept = [name for name in arguments(self._width) if name in rows.columns]
        missing = [name for name in arguments(self._width) if name not in kept]
        self._rebuild(
            rows.filter(F.col(EPOCH) < before).select(
                PREDICATE,
                *(F.coalesce(name, F.lit(0)).cast("long").alias(name) for name in kept),
                *(F.lit(0).cast("long").alias(name) for name in missing),
                ITERATION,
                MULTIPLICITY,
            ),
            before - 1,
        )

    def _rebuild(self, trace: DataFrame, epoch: int) -> None:
        """Fill an empty state: transitions follow from multiplicities."""
        self._input = []
        self._add_counts(trace)
        for stratum in range(len(self._plan.strata) + 1):
            self._stratum = stratum
            iteration = self._counts.following(stratum, -1)
            while iteration >= 0:
                self.settle(iteration)
                iteration = self._counts.following(stratum, iteration)
        self.commit(epoch)

    def trace(self, predicate: str) -> TraceRows:
        """Every (fact, iteration, multiplicity) of a predicate, in no particular order."""
        return self._reading.trace(predicate)

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        return self._reading.facts(predicate)

    def select(
        self, predicate: str, bound: Mapping[int, int], iteration: int = LAST_ITERATION
    ) -> Selection:
        """The facts of a predicate with these ids at these positions, judged at an iteration."""
        return self._reading.select(predicate, bound, iteration)

    def statistics(self) -> Statistics:
        """Size of the state; counted through after a start, and then from epoch to epoch."""
        if self._sizes is None:
            self._sizes = self._reading.sizes()
        return Statistics(*map(int, (*self._sizes, self._state.bytes())))


def _arrangements(plan: ProgramPlan) -> tuple[Arrangement, ...]:
    """What the state is read by: whole facts, keys of joins, groups."""
    found = [primary(predicate, arity) for predicate, arity in plan.arities.items()]
    found += [
        join.arrangement
        for stratum in plan.strata
        for delta in stratum.plans
        for join in delta.joins
        if len(join.key) + len(join.pattern.constants) < len(join.pattern.arguments)
    ]
    found += map(aggregates.group_of_lattice, plan.lattices)
    found += [aggregates.group_of_reduction(r) for s in plan.strata for r in s.reductions]
    return tuple(dict.fromkeys(found))
