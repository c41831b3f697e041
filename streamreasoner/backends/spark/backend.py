"""The engine's port over DataFrames. Invariant: the driver never holds the whole state.

An epoch keeps two logs of differences: of multiplicities, and of the transitions that follow from
them. Both are by fact and iteration; the state committed before the epoch is only read. Iterations
are settled once each, in ascending order: multiplicities up to a settled iteration are final.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.epoch import groups
from streamreasoner.backends.spark.epoch.full_evaluation import StateDifferences, following
from streamreasoner.backends.spark.epoch.leaves import QueryLeaves
from streamreasoner.backends.spark.epoch.outcome import SIZES, Outcome
from streamreasoner.backends.spark.epoch.progress import EpochProgress, digest
from streamreasoner.backends.spark.epoch.reading import StateReader
from streamreasoner.backends.spark.epoch.term_lookup import TermLookup
from streamreasoner.backends.spark.queries import columns, relation, sql
from streamreasoner.backends.spark.queries.columns import (
    EPOCH,
    ITERATION,
    LATTICE,
    MULTIPLICITY,
    PLAIN,
    PREDICATE,
    STRATUM,
    TRANSITION,
    argument,
    arguments,
)
from streamreasoner.backends.spark.queries.patterns import encode, heads
from streamreasoner.backends.spark.queries.relation import DifferenceLog, QueryRunner, Relation
from streamreasoner.backends.spark.tables.arranged import primary
from streamreasoner.backends.spark.tables.committed import CommittedState
from streamreasoner.engine.evaluate import evaluate
from streamreasoner.engine.ports import LAST_ITERATION, Statistics
from streamreasoner.engine.updates import Updates, check_arity
from streamreasoner.errors import MultiplicityOverflowError
from streamreasoner.plan.algebra import Age
from streamreasoner.state.version import StateVersion
from streamreasoner.system.capacity import Capacity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from streamreasoner.backends.spark.epoch.progress import Note
    from streamreasoner.backends.spark.tables.distributed_dictionary import DistributedDictionary
    from streamreasoner.engine.ports import EpochChanges, Selection
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.plan.algebra import Arrangement
    from streamreasoner.plan.program_plan import Lattice, ProgramPlan

_log = logging.getLogger(__name__)
_ALL = range(LAST_ITERATION)
DEFAULT_BUCKETS = 256


class SparkBackend:
    """Holds the state in a Delta table.

    Args:
        spark: A session with Delta Lake.
        directory: A Hadoop path for the state and the files of an epoch; all executors must
            reach it.
        plan: The program.
        dictionary: Terms and their ids.
        buckets: Number of buckets per arrangement.
    """

    def __init__(
        self,
        spark: SparkSession,
        directory: str,
        plan: ProgramPlan,
        dictionary: DistributedDictionary,
        buckets: int = DEFAULT_BUCKETS,
    ) -> None:
        self.place = directory
        self._dictionary = dictionary
        self._runner = QueryRunner(spark, f"{directory}/steps")
        self._progress = EpochProgress(self._runner)
        self._terms = TermLookup(self._runner, dictionary, spark.sparkContext.accumulator(0))
        self._state = CommittedState(self._runner, f"{directory}/state", dictionary.intern, buckets)
        self._sizes: NDArray[np.int64] | None = np.zeros(len(SIZES), np.int64)
        self._use(plan)
        self._begin()

    def _use(self, plan: ProgramPlan) -> None:
        """Read and maintain the state as a program needs it; call at the start of an epoch."""
        intern = self._dictionary.intern
        self._constants = pa.array(plan.constants, pa.large_string())
        self._dictionary.encode(self._constants)
        self._plan = plan
        self._width = max(1, *plan.arities.values())
        self._fact = columns.fact(self._width)
        self._strata = heads(plan, intern)
        self._stratum_of = sql.first_that_holds(self._strata, 0)
        self._lattices = [
            (lattice.pattern.predicate, encode(lattice.pattern, intern), number)
            for number, lattice in enumerate(plan.lattices)
        ]
        meaning = repr((StateVersion.current(), self._strata, self._lattices, plan.lattices))
        self._state.use(self._width, _arrangements(plan), meaning)
        self._reading = StateReader(self._runner, self._state, plan, self._stratum_of, self._width)

    def _begin(self) -> None:
        """Reset for a new epoch; the dictionary may have evicted the constants."""
        self._before: ProgramPlan | None = None
        self._dictionary.encode(self._constants)
        self._runner.begin()
        self._input: list[pa.Table] = []
        place = (*self._fact, STRATUM, LATTICE, ITERATION)
        self._multiplicities = DifferenceLog(self._runner, (*place, MULTIPLICITY))
        self._transitions = DifferenceLog(self._runner, (*place, TRANSITION))
        # The state of the facts, and of the groups of lattices, that the epoch touches.
        self._known = DifferenceLog(self._runner, (*place, MULTIPLICITY, TRANSITION))
        self._logs = {
            "counts": self._multiplicities,
            "transitions": self._transitions,
            "known": self._known,
        }
        self._result: Outcome | None = None
        self._stratum = 0
        # If progress is recorded: the epoch's digest, with the number of terms after its input. If
        # the epoch was resumed: the stratum and iteration it had reached.
        self._purpose: tuple[str, int] | None = None
        self._resumed: tuple[int, int] | None = None
        self._progress.begin()

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

    @files.explained
    def adopt(self, plan: ProgramPlan) -> None:
        """Switch to another program; this epoch settles what it derives differently."""
        before = self._plan
        self._use(following(before, plan))
        self._begin()
        self._before = before
        if self._state.empty:
            return
        change = StateDifferences(
            self._runner,
            self._state,
            self._terms,
            before=before,
            after=self._plan,
            width=self._width,
        )
        derived = self._runner.union(change.derived(), (*self._fact, ITERATION, MULTIPLICITY))
        self._add_multiplicities(derived)
        lattice_of = sql.first_that_holds(self._lattices, PLAIN)
        self._remember(
            self._runner.query(sql.extended(lattice_of, LATTICE), rows=change.regrouped())
        )
        if (missing := self._state.missing()) is not None:
            self._runner.collect_if_small(missing)

    # A stratum -----------------------------------------------------------------------------------

    @files.explained
    def enter(self, stratum: int) -> int:
        """Start a stratum; the final changes of lower strata are its deltas at iteration 0."""
        self._stratum = stratum
        if self._input:
            self._take_input()
        if self._resumed is not None and stratum <= self._resumed[0]:
            done, self._iteration = self._resumed
            return self.next_touched() if stratum == done else -1
        if stratum > 0:
            self._reduce(stratum)
            if not self._transitions.select(range(stratum), _ALL).empty:
                return 0
        self._iteration = -1
        return self.next_touched()

    @files.explained
    def settle(self, iteration: int) -> int:
        """Step 1: transitions at *iteration* from multiplicities; returns the delta's size."""
        self._iteration = iteration
        own = range(self._stratum, self._stratum + 1)
        now = range(iteration, iteration + 1)
        touched = self._multiplicities.select(own, now)
        self._load_state_of(touched)
        place = (*self._fact, LATTICE)
        affected = self._runner.union((touched, self._known.select(own, now)), place)
        affected = affected.distinct(place)
        if affected.empty:
            return self._delta_of((), iteration)
        logged = self._multiplicities.select(own, range(iteration + 1))
        multiplicities = self._restrict(affected, logged)
        known = self._known.select(own, range(iteration + 1))
        rows = self._runner.query(
            sql.until(place, iteration), multiplicities=multiplicities, known=known
        )
        changed = [self._runner.query(sql.appearing(place), rows=rows)]
        for number, lattice in enumerate(self._plan.lattices):
            logs = multiplicities, known
            if any(not log.where(lattice=number).empty for log in logs):
                candidates = self._runner.materialize(rows.where(lattice=number))
                changed.append(self._pick_winners(lattice, candidates))
        names = (*place, "upto", "before", TRANSITION)
        transitions = self._runner.materialize(
            self._runner.query(
                sql.transitions(place, self._stratum, iteration),
                changed=self._runner.union(changed, names),
            )
        )
        self._check_overflow(transitions)
        self._transitions.add(transitions)
        return self._delta_of((transitions,), iteration)

    def _restrict(self, affected: Relation, multiplicities: Relation) -> Relation:
        """Drop multiplicities of facts an iteration cannot change; lattice groups stay whole."""
        if affected.table is None or multiplicities.table is not None:
            return multiplicities
        return self._runner.query(
            sql.restricted(self._multiplicities.names, (*self._fact, LATTICE)),
            multiplicities=multiplicities,
            affected=affected,
        )

    def _delta_of(self, own: Iterable[Relation], iteration: int) -> int:
        """Set the delta for `derive`, at iteration 0 with lower strata; returns its size."""
        below = self._transitions.select(range(self._stratum if iteration == 0 else 0), _ALL)
        self._delta = self._runner.union((*own, below), (*self._fact, TRANSITION))
        if self._delta.table is not None:
            return int(self._delta.table.num_rows)
        return self._delta.frame.count()

    @files.explained
    def derive(self, iteration: int) -> None:
        """Steps 2 and 3: run the deltas through the stratum's plans; log the derived heads."""
        if self._stratum == 0:
            return
        leaves = QueryLeaves(
            runner=self._runner,
            state=self._state,
            terms=self._terms,
            delta_rows=self._delta,
            overlay=self._overlay,
            stratum=self._stratum,
            stratum_of=self._stratum_of,
            iteration=iteration,
            width=self._width,
        )
        derived = [evaluate(plan, leaves) for plan in self._plan.strata[self._stratum - 1].plans]
        self._add_multiplicities(
            self._runner.union(derived, (*self._fact, ITERATION, MULTIPLICITY))
        )

    def _take_input(self) -> None:
        """Start from the input, or resume where an earlier process died in the same epoch."""
        rows = pa.concat_tables(self._input)
        self._input = []
        many = len(rows) > relation.MAX_DRIVER_ROWS
        if many:
            self._runner.expect_many_rows()
        if many and self._before is None:
            terms = len(self._dictionary)
            checksum = self._runner.checksum(rows)
            self._purpose = digest(self._plan, self._state.last, terms, len(rows), checksum), terms
            if (note := self._progress.find(self._purpose[0])) is not None:
                self._resume(note)
                return
        self._add_multiplicities(self._runner.from_table(rows))

    def _resume(self, note: Note) -> None:
        """Continue from the progress that an earlier process recorded."""
        self._dictionary.encode(pa.array(note.terms, pa.large_string()))
        self._runner.resume(*note.generations)
        for name, log in self._logs.items():
            log.restore(note.logs[name])
        self._resumed = note.stratum, note.iteration
        _log.info(
            "Resuming the epoch after iteration %d of stratum %d.",
            note.iteration,
            note.stratum,
        )

    def next_touched(self) -> int:
        """The next iteration with touched facts, or -1 if the stratum is done."""
        if self._purpose is not None and self._runner.large and self._progress.due:
            purpose, known = self._purpose
            terms = self._dictionary.terms(known, len(self._dictionary)).to_pylist()
            self._progress.note(purpose, (self._stratum, self._iteration), terms, self._logs)
        logs = (self._multiplicities, self._known)
        later = [log.following(self._stratum, self._iteration) for log in logs]
        return min((iteration for iteration in later if iteration >= 0), default=-1)

    def _add_multiplicities(self, rows: Relation) -> None:
        """Sum differences of multiplicities by fact and iteration, and log them."""
        if rows.empty:
            return
        lattice_of = sql.first_that_holds(self._lattices, PLAIN)
        summed = self._runner.materialize(
            self._runner.query(
                sql.multiplicities((*self._fact, ITERATION), self._stratum_of, lattice_of),
                rows=rows,
            )
        )
        self._check_overflow(summed)
        self._multiplicities.add(summed)

    def _load_state_of(self, touched: Relation) -> None:
        """Load the state of touched facts, or of their groups, unless it is loaded already."""
        if self._state.empty or touched.empty:
            return
        parts: list[Relation] = []
        known = self._known.everything()
        kinds = touched.distinct((PREDICATE, LATTICE)).table
        present = None if kinds is None else set(zip(*kinds.to_pydict().values(), strict=True))
        for arrangement, lattice in self._groupings():
            if present is not None and (arrangement.predicate, lattice) not in present:
                continue
            positions = arrangement.key if lattice != PLAIN else range(self._width)
            names = {position: argument(position) for position in positions}
            on = (PREDICATE, *names.values())
            of = {PREDICATE: arrangement.predicate, LATTICE: lattice}
            fresh = touched.where(**of).distinct(on)
            read = known.where(**of).distinct(on)
            if not fresh.empty and not read.empty:
                fresh = self._runner.query(sql.antijoined(on), rows=fresh, keys=read)
            if fresh.empty:
                continue
            for part in self._state.read(arrangement, fresh.table, names):
                # Given few keys, Spark reads rows with these keys only.
                exact = part.table is None and fresh.table is not None
                rows = part if exact else self._semijoined(part, fresh, on)
                parts.append(self._runner.query(sql.extended(str(lattice), LATTICE), rows=rows))
        columns = (*self._fact, LATTICE, ITERATION, MULTIPLICITY, TRANSITION)
        self._remember(self._runner.gather(parts, columns))

    def _semijoined(self, rows: Relation, keys: Relation, on: Sequence[str]) -> Relation:
        return self._runner.query(sql.semijoined(on), rows=rows, keys=keys)

    def _remember(self, rows: Relation) -> None:
        """Log the state of facts and groups."""
        if rows.empty:
            return
        place = (*self._fact, LATTICE, ITERATION)
        known = self._runner.query(sql.consolidated_in_strata(place, self._stratum_of), rows=rows)
        self._known.add(self._runner.materialize(known))

    def _groupings(self) -> Iterable[tuple[Arrangement, int]]:
        """Arrangements to look up facts in, or groups of lattices, with the lattice's number."""
        for predicate, arity in self._plan.arities.items():
            yield primary(predicate, arity), PLAIN
        for number, lattice in enumerate(self._plan.lattices):
            yield groups.group_of_lattice(lattice), number

    def _pick_winners(self, lattice: Lattice, candidates: Relation) -> Relation:
        """Changed transitions of candidates: the new winner replaces the former one."""
        group = (PREDICATE, *map(argument, lattice.key))
        value = argument(lattice.position)
        rows = groups.with_ranks(self._runner, self._terms, candidates, value)
        winners = self._runner.query(sql.winners(lattice.function, group, value), rows=rows)
        return self._runner.query(
            sql.replacing(self._fact, group, value), rows=rows, winners=winners
        )

    def _reduce(self, stratum: int) -> None:
        """Update the aggregates that a stratum derives."""
        for reduction in self._plan.strata[stratum - 1].reductions:
            changed = self._multiplicities.select(range(stratum), _ALL).where(
                predicate=reduction.candidates
            )
            if changed.empty:
                continue
            group = groups.group_of_reduction(reduction)
            key = [argument(p) for p in reduction.key]
            touched = changed.distinct(key) if key else changed
            cells = arguments(self._width)
            parts = self._state.read(group, touched.table, {p: argument(p) for p in reduction.key})
            members = self._runner.gather(parts, (*cells, MULTIPLICITY))
            if key:
                members = self._semijoined(members, touched, key)
            candidates = self._runner.query(sql.candidates(cells), changed=changed, members=members)
            self._add_multiplicities(
                groups.results(
                    self._runner,
                    self._terms,
                    reduction,
                    self._runner.materialize(candidates),
                    self._width,
                )
            )

    def _overlay(self, age: Age) -> Relation:
        """The changed transitions visible to a join that reads old or new ones."""
        iteration = self._iteration
        names = (*self._fact, STRATUM, ITERATION, TRANSITION)
        upto = iteration + (age is Age.NEW)
        parts = [
            self._transitions.select(range(self._stratum, self._stratum + 1), range(upto)),
        ]
        if upto > 0:
            parts.append(self._transitions.select(range(self._stratum), _ALL))
        return self._runner.union(parts, names)

    @staticmethod
    def _check_overflow(rows: Relation) -> None:
        if rows.table is not None:
            overflowed = any(rows.table["overflow"].to_pylist())
        else:
            overflowed = not rows.frame.filter("overflow").isEmpty()
        if overflowed:
            raise MultiplicityOverflowError

    # The end of an epoch -------------------------------------------------------------------------

    def _outcome(self) -> Outcome:
        """What the epoch changes, computed once."""
        if self._result is None:
            rows = self._runner.query(
                sql.both((*self._fact, ITERATION)),
                multiplicities=self._multiplicities.everything(),
                transitions=self._transitions.everything(),
            )
            differences = self._runner.materialize(self._runner.consolidated(rows, self._width))
            self._result = Outcome.of(
                self._runner, self._plan, self._fact, differences, self._known.everything()
            )
        return self._result

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        return self._outcome().changes()

    @files.explained
    def commit(self, epoch: int) -> None:
        """Append the epoch to the state, unless a process that died has already done so."""
        outcome = self._outcome()
        self._state.append(outcome.differences, epoch)
        if self._purpose is not None:
            self._progress.forget()
        if self._sizes is not None:
            self._sizes = self._sizes + outcome.sizes()
        self._dictionary.settle()
        self._begin()

    def rollback(self) -> None:
        """Roll back the epoch; the state has none of it."""
        if self._before is not None:
            self._use(self._before)
        self._begin()

    def holds(self, epoch: int) -> bool:
        """Whether the table already has a coming epoch, written by a process that died."""
        return self._state.holds(epoch)

    # Reading -------------------------------------------------------------------------------------

    def restore(self, rows: Iterable[TraceRows]) -> None:
        """Load the trace of an earlier run into an empty state."""
        for batch in rows:
            self.add(Updates(batch.predicate, batch.args, batch.multiplicity))
            self._input[-1] = self._input[-1].set_column(
                self._input[-1].schema.get_field_index(ITERATION),
                ITERATION,
                pa.array(batch.iteration, pa.int32()),
            )
        if self._input:
            self._rebuild(self._runner.from_table(pa.concat_tables(self._input)), 0)

    @files.explained
    def resume(self, trace: Path, before: int) -> None:
        """Continue from the epochs below *before*, rebuilding the state from their trace if needed.

        Args:
            trace: A Delta table of the trace; the driver must reach it, executors need not.
            before: The next epoch.
        """
        if before == 0:
            return
        self._sizes = None
        since = self._state.open(before)
        if since == before:
            return
        if since == 0:
            self._state.clear()
        rows = self._runner.spark.read.format("delta").load(self._runner.reachable(trace))
        present = [name for name in arguments(self._width) if name in rows.columns]
        missing = [name for name in arguments(self._width) if name not in present]
        frame = rows.filter(f"{EPOCH} >= {since} AND {EPOCH} < {before}").selectExpr(
            PREDICATE,
            *(f"CAST(coalesce({name}, 0) AS BIGINT) AS {name}" for name in present),
            *(f"0L AS {name}" for name in missing),
            ITERATION,
            MULTIPLICITY,
        )
        self._rebuild(self._runner.from_frame(frame), before - 1)

    def _rebuild(self, trace: Relation, epoch: int) -> None:
        """Bring the state up to an epoch, computing transitions from multiplicities."""
        self._input = []
        self._add_multiplicities(trace)
        for stratum in range(len(self._plan.strata) + 1):
            self._stratum, self._iteration = stratum, -1
            while (iteration := self.next_touched()) >= 0:
                self.settle(iteration)
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
        """The facts of a predicate with these ids at these positions, as of an iteration."""
        return self._reading.select(predicate, bound, iteration)

    def statistics(self) -> Statistics:
        """Size of the state: a full count after a start, then updated each epoch."""
        if self._sizes is None:
            self._sizes = self._reading.sizes()
        facts, present, asserted, below_zero, trace_rows = map(int, self._sizes)
        size = self._state.bytes()
        return Statistics(
            facts,
            present,
            asserted,
            below_zero,
            trace_rows,
            size,
            self._terms.overflows.value,
            Capacity(size + self._dictionary.nbytes, ids=self._dictionary.ids),
        )


def _arrangements(plan: ProgramPlan) -> tuple[Arrangement, ...]:
    """The arrangements that a program reads: whole facts, join keys, groups."""
    arrangements = [primary(predicate, arity) for predicate, arity in plan.arities.items()]
    arrangements += [
        arrangement
        for stratum in plan.strata
        for delta in stratum.plans
        for arrangement in delta.arrangements
    ]
    arrangements += map(groups.group_of_lattice, plan.lattices)
    arrangements += [groups.group_of_reduction(r) for s in plan.strata for r in s.reductions]
    return tuple(dict.fromkeys(arrangements))
