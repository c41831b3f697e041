"""The engine's port over kernels. Invariant: an epoch that fails reaches the engine as an error.

The status of every kernel is checked. The port is one class, so this is one module; all that can
stand without its state is in the modules next to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar import migration, reading
from streamreasoner.backends.columnar.arena import LARGE_EPOCH, Arena
from streamreasoner.backends.columnar.callbacks import Builtins, weakly
from streamreasoner.backends.columnar.changes import Reader
from streamreasoner.backends.columnar.compiler.intersections import postpone
from streamreasoner.backends.columnar.compiler.numbering import Numbering
from streamreasoner.backends.columnar.compiler.program import compile_program
from streamreasoner.backends.columnar.kernels.epoch import journal, recompute, relocate
from streamreasoner.backends.columnar.kernels.joining import derive
from streamreasoner.backends.columnar.kernels.loading import log, targets
from streamreasoner.backends.columnar.kernels.records import layout, pending
from streamreasoner.backends.columnar.kernels.settling import reduce, settle
from streamreasoner.backends.columnar.parallel import LARGE, Threads
from streamreasoner.backends.columnar.placement import place_together, walked_arguments
from streamreasoner.backends.columnar.reading import cells_of, relation_of
from streamreasoner.backends.columnar.results import group_result
from streamreasoner.backends.columnar.status import error_of
from streamreasoner.engine.cost_model import LOADS
from streamreasoner.engine.ports import (
    LAST_ITERATION,
    NO_BOUND,
    UNLIMITED,
    Bound,
    Effort,
    EpochChanges,
    Selection,
    Statistics,
    Work,
)
from streamreasoner.engine.updates import TraceRows, added_by
from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.plan.algebra import Extend, Select
from streamreasoner.system.capacity import Capacity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.compiler.tables import ProgramTables
    from streamreasoner.engine.updates import Updates
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import Lattice, ProgramPlan, Reduction
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.values.value_columns import Values


class ColumnarBackend:
    """Keeps the state in this process, in reserved address space.

    Args:
        plan: The program.
        dictionary: Assigns ids to the program's constants.
        values: Values of terms, for comparisons; read while deriving.
        compiled: The program that another one has compiled; None: it is compiled here.
        share: How many states the memory of this process is for.

    Attributes:
        large: Number of deltas or updates from which a second thread takes part.
        walked: By predicate, the arguments that input is placed by.
    """

    large = LARGE

    def __init__(
        self,
        plan: ProgramPlan,
        dictionary: Dictionary,
        values: Values,
        *,
        compiled: tuple[Numbering, ProgramTables] | None = None,
        share: int = 1,
    ) -> None:
        self._dictionary = dictionary
        self._values = values
        self._change: ProgramChange | None = None
        self._former: Arena | None = None
        self._compared = False
        self._logged = False
        self._builtins = Builtins(dictionary, values, weakly(self._result))
        if compiled is None:
            numbering = Numbering()
            tables = compile_program(plan, numbering, dictionary.intern)
        else:
            numbering, tables = compiled[0], compiled[1].for_empty_state()
        self._numbering, self._share = numbering, share
        self._state = Arena(tables, self._builtins, share)
        self._table = self._state.table
        self._threads: Threads | None = None
        self._use(plan)

    @property
    def compiled(self) -> tuple[Numbering, ProgramTables]:
        """The program for others, which do not change it."""
        return self._numbering, self._state.tables

    def add(self, updates: Updates) -> None:
        """Add multiplicities to facts, mostly asserted ones, in the stratum each belongs to."""
        relation, arity = relation_of(self._numbering, updates.predicate, updates.args)
        walked = self.walked.get(updates.predicate)
        args, counts = place_together(walked, updates.args, updates.multiplicity)
        cells = cells_of(args)
        if updates.iteration:
            at = np.full(len(counts), updates.iteration, np.int32)
            self._check(pending.add_later(self._table, relation, arity, cells, at, counts))
            return
        threads = self._second_thread(len(counts))
        if threads is not None:
            self._check(threads.add(relation, arity, cells, counts))
        else:
            self._check(pending.add(self._table, relation, arity, cells, counts))

    def migrate(self, change: ProgramChange, tables: ProgramTables | None = None) -> None:
        """Keep the state as another program needs it, which another one may have compiled."""
        self._change = change
        if tables is None:
            tables = compile_program(change.after, self._numbering, self._dictionary.intern, change)
        self._migrate(change.after, tables)
        self._state.recount()
        self.extend_values()

    def evaluate(self) -> None:
        """Add or subtract what the rules of the change derive from all facts."""
        rules = self._change.evaluations if self._change else ()
        if rules:
            starts, items = migration.drivers(rules, self._state.tables.drivers, self._moved.sizes)
            self._check(relocate.evaluate_in_full(self._table, self._values.table, starts, items))

    def retract(self, reduction: Reduction) -> None:
        """Subtract the results of a reduction of the former program."""
        row = self._state.tables.reductions[reduction]
        self._check(reduce.retract_results(self._table, row))

    def resettle(self, lattices: Sequence[Lattice]) -> None:
        """Touch what the change has changed, and the facts of lattices that one program lacks."""
        if lattices:
            relocate.journal_converted(self._table, self._moved.effects)
            self._state.scalars[layout.CONVERTING] = int(self._moved.converts)
        relocate.touch_changed(self._table)

    def effort(self) -> Effort | None:
        """What the epoch takes; None if there is no room for a second state."""
        scalars = self._state.scalars
        if scalars[layout.TOP] > scalars[layout.CAPACITY] // _ROOM:
            return None
        return Effort(
            asserted=int(scalars[layout.ASSERTED]),
            derivations=int(scalars[layout.DERIVATIONS]),
            work=int(self._state.column(layout.WORK)[layout.WORK_SPENT]),
        )

    def limit(self, work: int) -> None:
        """Set the budget of each epoch from now on."""
        budget = layout.WORK_UNLIMITED if work == UNLIMITED else work
        at = [layout.WORK_BUDGET, layout.WORK_LOAD, layout.WORK_FACTS]
        expected = budget, int(work / LOADS), self._state.scalars[layout.FACT_COUNT]
        self._state.column(layout.WORK)[at] = expected

    def recompute(self) -> bool:
        """Begin the epoch anew, in an empty second state with what is asserted."""
        try:
            state = self.second_state()
        except EnvironmentSetupError:
            self.begin_again()
            return False
        self.begin_anew(state)
        return True

    def second_state(self) -> Arena:
        """An empty state of the same program.

        Raises:
            EnvironmentSetupError: There is no address space for it.
        """
        return Arena(self._state.tables.for_empty_state(), self._builtins, self._share)

    def begin_anew(self, state: Arena) -> None:
        """Begin the epoch anew in an empty state, with what is asserted."""
        former = self._state
        records = np.empty(int(former.scalars[layout.FACT_COUNT]), np.int32)
        records = records[: recompute.asserted(former.table, records)]
        records.sort()  # they were loaded in this order, which suits caches
        self._check(recompute.assert_again(state.table, former.table, records))
        barriers = [self.trace(predicate) for predicate in self._barriers]
        derive.finish(former.table, layout.FAILED)
        self._check(journal.withdraw_epoch(former.table, self._values.table))
        state.succeed(former)
        self._former, self._compared = former, False
        self._work_on(state)
        for rows in barriers:
            relation, arity = relation_of(self._numbering, rows.predicate, rows.args)
            cells, at, counts = cells_of(rows.args), rows.iteration, rows.multiplicity
            self._check(pending.add_later(self._table, relation, arity, cells, at, counts))

    def begin_again(self) -> None:
        """Undo what the rules of the epoch have done, without a second state."""
        updates = [*added_by(self.changes().trace)]
        self.rollback()
        self.limit(UNLIMITED)
        for each in updates:
            self.add(each)

    def _work_on(self, state: Arena) -> None:
        """Go on with another state."""
        self._state, self._table, self._threads = state, state.table, None

    def enter(self, stratum: int) -> None:
        """Start a stratum, with the final changes of lower strata as deltas at iteration 0."""
        self.extend_values()
        settle.enter(self._table, stratum)
        scalars = self._state.scalars
        lattices = self._state.tables.logged.get(stratum)
        if (
            lattices is not None
            and (self._former is not None or scalars[layout.TRACE_ROWS] == 0)
            and scalars[layout.JOURNALED_FACTS] >= LOGGED
            and log.begin(self._table, lattices)
        ):
            self._logged = True
            plans = self._state.tables.targeted[stratum]
            targets.collect(self._table, plans, len(self._dictionary))

    def reduce(self, reduction: Reduction) -> None:
        """Replace the results of changed groups of a reduction; touches heads at iteration 1."""
        row = self._state.tables.reductions[reduction]
        self._check(reduce.reduce(self._table, self._values.table, row))

    def settle(self, iteration: int) -> int:
        """Step 1: transitions at *iteration* from multiplicities; returns the number of deltas."""
        self._check(settle.settle(self._table, self._values.table, iteration))
        return int(self._state.scalars[layout.DELTA_COUNT])

    def derive(self, iteration: int) -> None:
        """Steps 2 and 3: run the deltas through the stratum's plans and touch the heads."""
        scalars = self._state.scalars
        threads = self._second_thread(int(scalars[layout.DELTA_COUNT]))
        values = self._values.table
        postpone(scalars, self._state.tables.cyclic)
        if threads is not None and threads.can_derive and not scalars[layout.LOGGING]:
            self._check(threads.derive(values, iteration))
        else:
            self._check(derive.derive(self._table, values, iteration))

    def next_touched(self, after: int) -> int:
        """The first iteration after *after* to settle, or -1 if the stratum is done."""
        following = settle.next_touched(self._table, after)
        if following < 0 and self._state.scalars[layout.LOGGING]:
            self._check(log.end_log(self._table))
        return following

    def present(self, predicate: str, bound: Mapping[int, int]) -> NDArray[np.int32]:
        """The present facts with these ids at these positions, as settled so far."""
        found = self.select(predicate, bound)
        return found.args[found.since >= 0]

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        self.compare()
        return self._reader.read(self._table)

    @property
    def is_anew(self) -> bool:
        """Whether the epoch is evaluated anew, in a second state."""
        return self._former is not None

    def compare(self) -> None:
        """Journal the difference to the former state, once, when the epoch is settled."""
        former = self._former
        if former is None or self._compared:
            return
        self._compared = True
        words = (int(former.scalars[layout.TOP]) >> recompute.WORD_SHIFT) + 1
        found = np.zeros(words, np.int64)
        tags = np.zeros(recompute.BLOCK, np.int64)
        self._check(recompute.compare(self._table, former.table, found, tags))
        self._state.reads.clear()  # the journal no longer has all that this state has made

    def work(self) -> Work:
        """What rules did in the last epoch."""
        column = self._state.column(layout.WORK)
        rules = column[layout.WORK_RULES :].reshape(-1, layout.WORK_WIDTH).astype(np.int64)
        if column[layout.WORK_EPOCH] != self._state.scalars[layout.EPOCH] - 1:
            rules[:] = 0  # no rule was evaluated
        return Work(
            self._state.tables.rules,
            rules[:, layout.WORK_FIRINGS],
            rules[:, layout.WORK_NANOSECONDS],
        )

    def commit(self) -> None:
        """Make the epoch's changes final."""
        self.compare()
        scalars = self._state.scalars
        changed, is_new = int(scalars[layout.JOURNALED_FACTS]), self._former is not None
        large = changed > LARGE_EPOCH or is_new or self._logged
        self._state.reads.note(self._state)
        journal.commit(self._table)
        self._change, self._former, self._logged = None, None, False
        if large:
            self._state.trim(fits=is_new or 4 * changed > scalars[layout.FACT_COUNT])

    def rollback(self) -> None:
        """Undo the epoch completely."""
        if self._former is not None:
            self._work_on(self._former)
            self._former = None
            self._check(journal.rederive(self._table, self._values.table))
            return
        derive.finish(self._table, layout.FAILED)
        self._check(journal.rollback(self._table, self._values.table))
        if self._change is not None:
            self._undo(self._change)
            self._state.recount()
            self._change = None

    def _undo(self, change: ProgramChange) -> None:
        """Return to the former program, after multiplicities have been restored."""
        tables = compile_program(change.before, self._numbering, self._dictionary.intern)
        self._migrate(change.before, tables)
        relocate.journal_converted(self._table, self._moved.effects)
        self._check(journal.resettle(self._table, self._values.table))
        for reduction in change.reductions:
            row = self._state.tables.reductions[reduction]
            self._check(reduce.rebuild_groups(self._table, self._values.table, row))

    def _migrate(self, plan: ProgramPlan, tables: ProgramTables) -> None:
        """Move the state to a program."""
        self._moved = migration.migrate(self._state, tables, self._values, self._check)
        self._use(plan)

    def _use(self, plan: ProgramPlan) -> None:
        self._reader = Reader(self._numbering)
        self.walked = walked_arguments(plan)
        self._barriers = [p.predicate for stratum in plan.strata for p in stratum.barriers]
        self._needs_values = needs_values(plan)

    def restore(self, rows: Iterable[TraceRows]) -> None:
        """Load the trace of an earlier run into an empty state."""
        for batch in rows:
            self.restore_rows(batch)
        self.finish_restore()

    def restore_rows(self, batch: TraceRows) -> None:
        """Load a batch of a trace."""
        relation, arity = relation_of(self._numbering, batch.predicate, batch.args)
        args, iterations, counts = place_together(
            self.walked.get(batch.predicate), batch.args, batch.iteration, batch.multiplicity
        )
        cells = cells_of(args)
        self._check(pending.add_trace(self._table, relation, arity, cells, iterations, counts))

    def finish_restore(self) -> None:
        """Settle what was loaded, and keep it."""
        self.settle_restored()
        journal.commit(self._table)
        self._state.recount()
        self._state.trim(fits=True)

    def settle_restored(self) -> None:
        """Settle what was loaded."""
        self.extend_values()
        self._check(journal.settle_restored(self._table, self._values.table))

    def trace(self, predicate: str, bound: Bound = NO_BOUND) -> TraceRows:
        """Every (fact, iteration, multiplicity) of the facts with these ids at these positions."""
        return reading.trace(self._state, self._numbering, predicate, bound)

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        return reading.facts(self._table, self._numbering, predicate)

    def facts_of(self, predicates: Iterable[str]) -> dict[str, NDArray[np.int32]]:
        """The present facts of predicates, from one pass over the state."""
        return reading.facts_of(self._state, self._numbering, predicates)

    def asserted(self, predicate: str, args: NDArray[np.int32]) -> NDArray[np.int64]:
        """Multiplicities at iteration 0 of facts, int64 of shape (n,)."""
        return reading.asserted(self._table, self._numbering, predicate, args)

    def members(self, predicate: str, keys: NDArray[np.int32]) -> NDArray[np.int32]:
        """The present facts that begin with one of these ids, int32 of shape (n, arity)."""
        return reading.members(self._table, self._numbering, predicate, keys)

    def select(
        self, predicate: str, bound: Mapping[int, int], iteration: int = LAST_ITERATION
    ) -> Selection:
        """The facts of a predicate with these ids at these positions, as of an iteration."""
        return reading.selection(self._state, self._numbering, predicate, bound, iteration)

    def statistics(self) -> Statistics:
        """Size of the state."""
        scalars, terms = self._state.scalars, self._dictionary
        return Statistics(
            facts=int(scalars[layout.FACT_COUNT]),
            present=int(scalars[layout.PRESENT]),
            asserted=int(scalars[layout.ASSERTED]),
            below_zero=int(scalars[layout.BELOW_ZERO]),
            trace_rows=int(scalars[layout.TRACE_ROWS]),
            overflows=self._builtins.overflows,
            bytes=(size := self._state.bytes(len(terms))),
            capacity=Capacity(size + terms.nbytes, self._state.fill, terms.text, terms.ids),
        )

    def _second_thread(self, size: int) -> Threads | None:
        """The second thread, if *size* rows of work are worth sharing."""
        if size < self.large or not Threads.allowed():
            return None
        if self._threads is None:
            self._threads = Threads(self._state)
        return self._threads

    def extend_values(self) -> None:
        """Have the values of all terms, if the program needs values."""
        if self._needs_values:
            self._values.extend()

    def _result(self, group: int) -> str | None:
        """The result term of a reduction group, for kernels that cannot compute it."""
        return group_result(self._state, self._dictionary, group)

    def _check(self, status: int) -> None:
        if status != layout.OK:
            raise error_of(status, self._state, self._builtins)


LOGGED = 1 << 12
"""Facts of a load from which heads of its lattices are logged."""
_ROOM = 4  # a state that is evaluated anew may have at most this part of the memory


def needs_values(plan: ProgramPlan) -> bool:
    """Whether the program needs values of terms, and not only their identity."""
    return bool(plan.lattices or plan.reductions) or any(
        isinstance(step, Select | Extend)
        for stratum in plan.strata
        for delta in stratum.plans
        for step in delta.steps
    )
