"""The engine's port over DataFrames. Invariant: the driver never holds the whole state.

It adds the differences of each epoch to a committed state, and resumes large epochs and the state
itself where a process died.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.epoch import groups
from streamreasoner.backends.spark.epoch.differences import ALL_ITERATIONS, Differences
from streamreasoner.backends.spark.epoch.full_evaluation import in_full
from streamreasoner.backends.spark.epoch.leaves import QueryLeaves
from streamreasoner.backends.spark.epoch.outcome import SIZES, Outcome
from streamreasoner.backends.spark.epoch.progress import EpochProgress, digest
from streamreasoner.backends.spark.epoch.reading import StateReader
from streamreasoner.backends.spark.epoch.settling import reduce, regroup, retract, settled
from streamreasoner.backends.spark.epoch.term_lookup import TermLookup
from streamreasoner.backends.spark.queries.columns import (
    EPOCH,
    ITERATION,
    MULTIPLICITY,
    PREDICATE,
    TRANSITION,
    argument,
    arguments,
)
from streamreasoner.backends.spark.queries.encoded_program import EncodedProgram
from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
from streamreasoner.backends.spark.tables.committed import CommittedState
from streamreasoner.backends.spark.tables.places import primary
from streamreasoner.engine.evaluate import evaluate
from streamreasoner.engine.ports import LAST_ITERATION, NO_WORK, Statistics
from streamreasoner.engine.updates import Updates, check_arity
from streamreasoner.system.capacity import Capacity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from streamreasoner.backends.spark.epoch.progress import Note
    from streamreasoner.backends.spark.tables.distributed_dictionary import DistributedDictionary
    from streamreasoner.engine.ports import EpochChanges, Selection, Work
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.plan.algebra import Arrangement
    from streamreasoner.plan.program_change import FullEvaluation, ProgramChange
    from streamreasoner.plan.program_plan import Lattice, ProgramPlan, Reduction

_log = logging.getLogger(__name__)
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
        memory: Bytes of the driver's memory that the rows of an epoch may take; None for as
            many as `queries.spark_rows` allows.
    """

    def __init__(
        self,
        spark: SparkSession,
        directory: str,
        plan: ProgramPlan,
        dictionary: DistributedDictionary,
        buckets: int = DEFAULT_BUCKETS,
        *,
        memory: int | None = None,
    ) -> None:
        self.place = directory
        self._dictionary = dictionary
        self._runner = QueryRunner(spark, f"{directory}/steps", memory)
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
        self._program = EncodedProgram.of(plan, intern)
        self._state.use(self._program.width, _arrangements(plan), self._program.meaning)
        self._reading = StateReader(self._runner, self._state, self._program)

    def _begin(self) -> None:
        """Reset for a new epoch."""
        self._before = self._program
        self._runner.begin()
        self._input: list[pa.Table] = []
        self._differences = Differences(self._runner, self._state, self._program)
        self._result: Outcome | None = None
        self._stratum = 0
        # If progress is recorded: the epoch's digest, with the number of terms after its input. If
        # the epoch was resumed: the stratum and iteration it had reached.
        self._purpose: tuple[str, int] | None = None
        self._resumed = -1, -1
        self._progress.begin()

    # Input ---------------------------------------------------------------------------------------

    def add(self, updates: Updates) -> None:
        """Add multiplicities to facts, mostly asserted ones, in the stratum each belongs to."""
        arity = check_arity(updates.predicate, updates.args, self._program.plan.arities)
        rows = len(updates.multiplicity)
        data = {PREDICATE: pa.array([updates.predicate], pa.string()).take(np.zeros(rows, int))}
        for position in range(self._program.width):
            ids = updates.args[:, position] if position < arity else np.zeros(rows)
            data[argument(position)] = pa.array(ids.astype(np.int64))
        data[ITERATION] = pa.array(np.full(rows, updates.iteration, np.int32))
        data[MULTIPLICITY] = pa.array(np.ascontiguousarray(updates.multiplicity))
        self._input.append(pa.table(data))

    @files.explained
    def migrate(self, change: ProgramChange) -> None:
        """Keep the state as another program needs it."""
        before = self._program
        self._use(change.after)
        self._begin()
        self._before = before

    @files.explained
    def evaluate(self, rules: Sequence[FullEvaluation]) -> None:
        """Add or subtract what rules of the change derive from all facts."""
        derived = in_full(self._differences, self._terms, self._before.stratum_of, rules)
        columns = (*self._program.fact, ITERATION, MULTIPLICITY)
        self._differences.add(self._runner.union(derived, columns))

    @files.explained
    def retract(self, reduction: Reduction) -> None:
        """Subtract the results of a reduction of the former program."""
        retract(self._differences, self._terms, reduction)

    @files.explained
    def resettle(self, lattices: Sequence[Lattice]) -> None:
        """Touch what the change has changed, and the facts of lattices that one program lacks."""
        regroup(self._differences, self._terms, lattices)
        if (missing := self._state.missing()) is not None:
            self._runner.collect_if_small(missing)

    # A stratum -----------------------------------------------------------------------------------

    @files.explained
    def enter(self, stratum: int) -> None:
        """Start a stratum; the final changes of lower strata are its deltas at iteration 0."""
        self._stratum = stratum
        if self._input:
            self._take_input()

    @files.explained
    def reduce(self, reduction: Reduction) -> None:
        """Replace the results of changed groups of a reduction; touches heads at iteration 1."""
        if self._stratum > self._resumed[0]:
            reduce(self._differences, self._terms, self._stratum, reduction)

    @files.explained
    def next_touched(self, after: int) -> int:
        """The first iteration after *after* to settle, or -1 if the stratum is done."""
        stratum, (done, reached) = self._stratum, self._resumed
        if stratum < done:
            return -1
        if stratum == done:
            after = max(after, reached)
        elif after < 0 and not self._lower_changes().empty:
            return 0
        if self._purpose is not None and self._runner.large and self._progress.due:
            purpose, known = self._purpose
            terms = self._dictionary.terms(known, len(self._dictionary)).to_pylist()
            self._progress.note(purpose, (stratum, after), terms, self._differences.logs)
        return self._differences.next_touched(stratum, after)

    @files.explained
    def present(self, predicate: str, bound: Mapping[int, int]) -> NDArray[np.int32]:
        """The present facts with these ids at these positions, as settled so far."""
        return self._reading.present(predicate, bound, self._differences.transitions.everything())

    def _lower_changes(self) -> SparkRows:
        """Changed transitions of lower strata: the stratum's deltas at iteration 0."""
        return self._differences.transitions.select(range(self._stratum), ALL_ITERATIONS)

    def effort(self) -> None:
        """Not known: rules are queries, whose work is not counted. So no epoch is recomputed."""

    def limit(self, work: int) -> None:
        """Rules have no budget here."""

    def recompute(self) -> bool:
        """Not done here: the effort of an epoch is not known."""
        return False

    @files.explained
    def settle(self, iteration: int) -> int:
        """Step 1: transitions at *iteration* from multiplicities; returns the delta's size."""
        transitions = settled(self._differences, self._terms, self._stratum, iteration)
        parts = [] if transitions is None else [transitions]
        if iteration == 0:
            parts.append(self._lower_changes())
        self._delta = self._runner.union(parts, (*self._program.fact, TRANSITION))
        if self._delta.table is not None:
            return int(self._delta.table.num_rows)
        if iteration > 0 and transitions is not None and transitions.observed is not None:
            return transitions.observed.rows
        return self._delta.frame.count()

    @files.explained
    def derive(self, iteration: int) -> None:
        """Steps 2 and 3: run the deltas through the stratum's plans; log the derived heads."""
        if self._stratum == 0:
            return
        program = self._program
        leaves = QueryLeaves(
            runner=self._runner,
            state=self._state,
            terms=self._terms,
            delta_rows=self._delta,
            overlay=partial(self._differences.visible, stratum=self._stratum, iteration=iteration),
            stratum=self._stratum,
            stratum_of=program.stratum_of,
            iteration=iteration,
            width=program.width,
        )
        derived = [evaluate(plan, leaves) for plan in program.plan.strata[self._stratum - 1].plans]
        columns = (*program.fact, ITERATION, MULTIPLICITY)
        self._differences.add(self._runner.union(derived, columns))

    def _take_input(self) -> None:
        """Start from the input, or resume where an earlier process died in the same epoch."""
        rows = pa.concat_tables(self._input)
        self._input = []
        many = len(rows) > self._runner.capacity
        if many:
            self._runner.expect_many_rows()
        if many and self._before is self._program:
            terms = len(self._dictionary)
            epoch = self._state.last, terms, len(rows), self._runner.checksum(rows)
            self._purpose = digest(self._program.plan, *epoch), terms
            if (note := self._progress.find(self._purpose[0])) is not None:
                self._resume(note)
                return
        self._differences.add(self._runner.from_table(rows))

    def _resume(self, note: Note) -> None:
        """Continue from the progress that an earlier process recorded."""
        self._dictionary.encode(pa.array(note.terms, pa.large_string()))
        self._runner.resume(*note.generations)
        for name, log in self._differences.logs.items():
            log.restore(note.logs[name])
        self._resumed = note.stratum, note.iteration
        _log.info(
            "Resuming the epoch after iteration %d of stratum %d.",
            note.iteration,
            note.stratum,
        )

    # The end of an epoch -------------------------------------------------------------------------

    def _outcome(self) -> Outcome:
        """What the epoch changes, computed once."""
        if self._result is None:
            self._result = Outcome.of(
                self._runner,
                self._program,
                self._differences.everything(),
                self._differences.known.everything(),
            )
        return self._result

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        return self._outcome().changes()

    def work(self) -> Work:
        """Nothing is known: one query may derive for all rules of a stratum."""
        return NO_WORK

    @files.explained
    def commit(self, epoch: int, *, more: bool = False) -> None:
        """Append the epoch to the state, unless a process that died has already done so."""
        outcome = self._outcome()
        self._state.append(outcome.differences, epoch, more=more)
        if self._purpose is not None:
            self._progress.forget()
        if self._sizes is not None:
            self._sizes = self._sizes + outcome.sizes()
        self._dictionary.settle(self._constants)
        self._begin()

    def rollback(self) -> None:
        """Roll back the epoch; the state has none of it."""
        if self._before is not self._program:
            self._use(self._before.plan)
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
        present = [name for name in arguments(self._program.width) if name in rows.columns]
        missing = [name for name in arguments(self._program.width) if name not in present]
        frame = rows.filter(f"{EPOCH} >= {since} AND {EPOCH} < {before}").selectExpr(
            PREDICATE,
            *(f"CAST(coalesce({name}, 0) AS BIGINT) AS {name}" for name in present),
            *(f"0L AS {name}" for name in missing),
            ITERATION,
            MULTIPLICITY,
        )
        self._rebuild(self._runner.from_frame(frame), before - 1)

    def _rebuild(self, trace: SparkRows, epoch: int) -> None:
        """Bring the state up to an epoch, computing transitions from multiplicities."""
        self._input = []
        self._differences.add(trace)
        for stratum in range(len(self._program.plan.strata) + 1):
            iteration = -1
            while (iteration := self._differences.next_touched(stratum, iteration)) >= 0:
                settled(self._differences, self._terms, stratum, iteration)
        self.commit(epoch)

    def trace(self, predicate: str) -> TraceRows:
        """Every (fact, iteration, multiplicity) of a predicate, in no particular order."""
        return self._reading.trace(predicate)

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        return self._reading.facts(predicate)

    def facts_of(self, predicates: Iterable[str]) -> dict[str, NDArray[np.int32]]:
        """The present facts of predicates."""
        return {predicate: self.facts(predicate) for predicate in predicates}

    @files.explained
    def asserted(self, predicate: str, args: NDArray[np.int32]) -> NDArray[np.int64]:
        """Multiplicities at iteration 0 of facts, int64 of shape (n,)."""
        check_arity(predicate, args, self._program.plan.arities)
        return self._reading.asserted(predicate, args)

    @files.explained
    def members(self, predicate: str, keys: NDArray[np.int32]) -> NDArray[np.int32]:
        """The present facts that begin with one of these ids, int32 of shape (n, arity)."""
        return self._reading.members(predicate, keys)

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
    arrangements += map(groups.group_of_reduction, plan.reductions)
    return tuple(dict.fromkeys(arrangements))
