"""The engine's port over parts. Invariant: every count is that of one store with the whole state.

All parts take a step before any of them takes the next one: in threads if there is much to do, or
else in turns, within one call of a kernel.

A change of the program may change who owns a fact. So the state is put together for the epoch that
changes the program, and divided anew when it is committed.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.kernels.epoch import turns
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.placement import place_together, walked_arguments
from streamreasoner.backends.columnar.reading import cells_of, relation_of
from streamreasoner.backends.parts.crew import Crew
from streamreasoner.backends.parts.part import Part, parts_of
from streamreasoner.engine.ports import (
    LAST_ITERATION,
    UNLIMITED,
    Effort,
    EpochChanges,
    Selection,
    Statistics,
    Work,
)
from streamreasoner.engine.updates import TraceRows, Updates, check_arity
from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.plan.copies import with_copies
from streamreasoner.plan.division import divide
from streamreasoner.system.capacity import Capacity
from streamreasoner.system.memory import fullest
from streamreasoner.system.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.plan.division import Division
    from streamreasoner.plan.program_change import FullEvaluation, ProgramChange
    from streamreasoner.plan.program_plan import Lattice, ProgramPlan, Reduction
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.values.value_columns import Values

LARGE = 1 << 12
"""Rows or deltas from which threads pay off: a step of theirs waits for some 50 microseconds."""


class PartsBackend:
    """Keeps the state in parts, each of which owns facts, in this process.

    Args:
        plan: The program.
        dictionary: Assigns ids to the program's constants.
        values: Values of terms.
        parts: The number of parts.
        division: Divides a program; by default as the program says.
        crew: Takes steps in threads; by default one for each part, as long as there are processors.

    Attributes:
        large: Rows, or deltas, from which steps are taken in threads.
        addresses: The addresses of the address tables of the parts, int64 of shape (parts,).
    """

    large = LARGE

    def __init__(
        self,
        plan: ProgramPlan,
        dictionary: Dictionary,
        values: Values,
        parts: int,
        *,
        division: Callable[[ProgramPlan], Division] = divide,
        crew: Crew | None = None,
    ) -> None:
        self._dictionary, self._values = dictionary, values
        self._count = parts
        self._divide = division
        self._crew = Crew(min(parts, processors())) if crew is None else crew
        self._is_large = self._was_large = False
        self._overflows = 0
        self._work: Work | None = None
        self._after: ProgramPlan | None = None
        self._use(plan)

    def _use(self, plan: ProgramPlan) -> None:
        """Begin anew with empty parts for a program."""
        division = self._divide(plan)
        divided = with_copies(plan, division)
        parts: list[Part] = []
        for number in range(self._count):
            parts.append(
                Part(
                    divided,
                    self._dictionary,
                    self._values,
                    owning=division.owners,
                    number=number,
                    parts=self._count,
                    compiled=parts[0].compiled if parts else None,
                )
            )
        self._plan, self._owners = plan, division.owners
        self._walked = walked_arguments(plan)
        self._cyclic = parts[0].compiled[1].cyclic
        self._parts = self._former = tuple(parts)
        self._stores: Sequence[ColumnarBackend] = self._parts
        self._locate()

    def _locate(self) -> None:
        """Find where the parts are."""
        self.addresses = np.array([part.table.ctypes.data for part in self._parts], np.int64)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts; none in an epoch that changes the program."""
        return self._parts

    def add(self, updates: Updates) -> None:
        """Add multiplicities to facts, mostly asserted ones, in the stratum each belongs to."""
        if not self._parts:
            self._stores[0].add(updates)
            return
        if updates.iteration:
            for part, rows in self._owned(updates.predicate, updates.args):
                args, counts = updates.args[rows], updates.multiplicity[rows]
                part.add(Updates(updates.predicate, args, counts, iteration=updates.iteration))
            return
        numbering, _ = self._parts[0].compiled
        relation, arity = relation_of(numbering, updates.predicate, updates.args)
        walked = self._walked.get(updates.predicate)
        args, counts = place_together(walked, updates.args, updates.multiplicity)
        cells = cells_of(args)
        # The last rows of a load are few, and it is large.
        self._is_large |= len(counts) >= self.large
        self._take(lambda part: part.add_owned(relation, arity, cells, counts))

    def _take(self, step: Callable[[Part], object]) -> None:
        """Take a step in all parts: in threads, if there is much to do."""
        self._was_large |= self._is_large
        if self._is_large:
            self._crew.take(lambda number: step(self._parts[number]), len(self._parts))
        else:
            for part in self._parts:
                step(part)

    def _owned(
        self, predicate: str, args: NDArray[np.int32]
    ) -> Iterator[tuple[Part, NDArray[np.intp]]]:
        """The parts that own some of the facts, with the numbers of these."""
        check_arity(predicate, args, self._plan.arities)
        position = self._owners[predicate]
        if position is None:
            owners = np.zeros(len(args), np.int64)
        else:
            owners = parts_of(args[:, position], self._count)
        for number, part in enumerate(self._parts):
            rows = np.flatnonzero(owners == number)
            if len(rows):
                yield part, rows

    def migrate(self, change: ProgramChange) -> None:
        """Put the state together, as another program needs it."""
        whole = ColumnarBackend(change.before, self._dictionary, self._values)
        whole.restore(self.trace(predicate) for predicate in change.before.arities)
        self._stores, self._parts, self._after = (whole,), (), change.after
        whole.migrate(change)

    def evaluate(self, rules: Sequence[FullEvaluation]) -> None:
        """Add or subtract what rules of the change derive from all facts."""
        self._stores[0].evaluate(rules)

    def retract(self, reduction: Reduction) -> None:
        """Subtract the results of a reduction of the former program."""
        self._stores[0].retract(reduction)

    def resettle(self, lattices: Sequence[Lattice]) -> None:
        """Touch what the change has changed, and the facts of lattices that one program lacks."""
        self._stores[0].resettle(lattices)

    def effort(self) -> Effort | None:
        """What the epoch takes in all parts; None if one has no room for a second state."""
        found = [each for each in (store.effort() for store in self._stores) if each is not None]
        if len(found) < len(self._stores):
            return None
        return Effort(
            asserted=sum(each.asserted for each in found),
            derivations=sum(each.derivations for each in found),
            work=sum(each.work for each in found),
        )

    def limit(self, work: int) -> None:
        """Set the budget of each epoch; the first part to spend its share gives up for all."""
        for store in self._stores:
            store.limit(work if work == UNLIMITED else -(-work // len(self._stores)))

    def recompute(self) -> bool:
        """Begin the epoch anew, in empty second states of all parts with what is asserted."""
        try:
            states = {part: part.second_state() for part in self._parts}
        except EnvironmentSetupError:
            for part in self._parts:
                part.begin_again()
            return False
        self._is_large |= sum(part.statistics().asserted for part in self._parts) >= self.large
        self._take(lambda part: part.begin_anew(states[part]))
        self._locate()
        return True

    def enter(self, stratum: int) -> None:
        """Start a stratum, with the final changes of lower strata as deltas at iteration 0."""
        if not self._parts:
            self._stores[0].enter(stratum)
            return
        self._parts[0].extend_values()
        self._stratum = stratum
        if self._is_large:
            self._take(lambda part: part.enter(stratum))
        else:
            turns.enter_all(self.addresses, stratum)

    def reduce(self, reduction: Reduction) -> None:
        """Replace the results of changed groups of a reduction; touches heads at iteration 1."""
        if not self._parts:
            self._stores[0].reduce(reduction)
            return
        self._take(lambda part: part.reduce(reduction))
        self._check(turns.exchange_heads(self.addresses))

    def next_touched(self, after: int) -> int:
        """The first iteration after *after* to settle, or -1 if the stratum is done."""
        if not self._parts:
            return self._stores[0].next_touched(after)
        return turns.next_touched_all(self.addresses, after)

    def settle(self, iteration: int) -> int:
        """Step 1: transitions at *iteration*, and then copies; returns the number of deltas."""
        if not self._parts:
            return self._stores[0].settle(iteration)
        if self._is_large:
            self._take(lambda part: part.settle(iteration))
            self._take(lambda part: part.fetch_changes(self.addresses, iteration))
        else:
            self._check(turns.settle_all(self.addresses, self._values.table, iteration))
        deltas = turns.delta_count(self.addresses)
        self._is_large = deltas >= self.large
        return deltas

    def derive(self, iteration: int) -> None:
        """Steps 2 and 3: run the deltas through the plans, and send heads to their owners."""
        if not self._parts:
            self._stores[0].derive(iteration)
            return
        if self._is_large:
            self._take(lambda part: part.derive(iteration))
            self._take(lambda part: part.fetch_heads(self.addresses))
            self._take(Part.empty_outbox)
            return
        if self._stratum in self._cyclic:
            for part in self._parts:
                part.postpone()
        self._check(turns.derive_all(self.addresses, self._values.table, iteration))

    def _check(self, code: int) -> None:
        if code != layout.OK:
            number, status = divmod(code, turns.STATUSES)
            self._parts[number].check(status)

    def present(self, predicate: str, bound: Mapping[int, int]) -> NDArray[np.int32]:
        """The present facts with these ids at these positions, as settled so far."""
        return np.concatenate([store.present(predicate, bound) for store in self._stores])

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        if self._parts:
            if self._parts[0].is_anew:
                self._is_large = self._was_large
                self._take(Part.compare)
            stores: Sequence[ColumnarBackend] = [part for part in self._parts if part.has_changes]
        else:
            stores = self._stores
        found = [store.changes() for store in stores]
        return EpochChanges(
            tuple(chain.from_iterable(each.derived for each in found)),
            tuple(chain.from_iterable(each.closure for each in found)),
            tuple(chain.from_iterable(each.trace for each in found)),
        )

    def work(self) -> Work:
        """What rules did in the last epoch, in all parts together."""
        if self._work is not None:
            return self._work
        found = [store.work() for store in self._stores]
        firings = [each.firings for each in found if each.firings is not None]
        times = [each.nanoseconds for each in found if each.nanoseconds is not None]
        return Work(found[0].rules, np.sum(firings, axis=0), np.sum(times, axis=0))

    def commit(self, epoch: int, *, more: bool = False) -> None:
        """Make the epoch's changes final."""
        if not self._parts:
            self._stores[0].commit(epoch, more=more)
        elif self._was_large or self._parts[0].is_anew:
            self._is_large = self._was_large
            self._take(lambda part: part.commit(epoch, more=more))
        else:
            turns.commit_all(self.addresses)
        self._is_large = self._was_large = False
        self._work = None
        if self._after is not None:
            self._divide_anew(self._after)

    def _divide_anew(self, plan: ProgramPlan) -> None:
        """Divide the state that was put together."""
        whole = self._stores[0]
        self._work = whole.work()
        self._overflows += sum(part.statistics().overflows for part in self._former)
        self._overflows += whole.statistics().overflows
        self._use(plan)
        self._after = None
        self.restore(whole.trace(predicate) for predicate in plan.arities)

    def rollback(self) -> None:
        """Undo the epoch completely."""
        self._parts = self._stores = self._former
        self._is_large = self._was_large = False
        if self._after is None:
            for part in self._parts:
                part.rollback()
            self._locate()
        self._after = None

    def holds(self, epoch: int) -> bool:  # noqa: ARG002 - part of the port
        """Always false: the state does not outlive its process."""
        return False

    def restore(self, rows: Iterable[TraceRows]) -> None:
        """Load the trace of an earlier run into an empty state."""
        for batch in rows:
            for part, chosen in self._owned(batch.predicate, batch.args):
                args, at = batch.args[chosen], batch.iteration[chosen]
                part.restore_rows(TraceRows(batch.predicate, args, at, batch.multiplicity[chosen]))
        for part in self._parts:
            part.finish_restore()
        for part in self._parts:
            part.fetch_facts(self._parts)
        for part in self._parts:
            part.finish_restore()

    def trace(self, predicate: str) -> TraceRows:
        """Every (fact, iteration, multiplicity) of a predicate, in no particular order."""
        found = [store.trace(predicate) for store in self._stores]
        return TraceRows(
            predicate,
            np.concatenate([rows.args for rows in found]),
            np.concatenate([rows.iteration for rows in found]),
            np.concatenate([rows.multiplicity for rows in found]),
        )

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        return np.concatenate([store.facts(predicate) for store in self._stores])

    def facts_of(self, predicates: Iterable[str]) -> dict[str, NDArray[np.int32]]:
        """The present facts of predicates, from one pass over the state."""
        names = [*predicates]
        found = [store.facts_of(names) for store in self._stores]
        return {name: np.concatenate([each[name] for each in found]) for name in names}

    def asserted(self, predicate: str, args: NDArray[np.int32]) -> NDArray[np.int64]:
        """Multiplicities at iteration 0 of facts, int64 of shape (n,)."""
        if not self._parts:
            return self._stores[0].asserted(predicate, args)
        counts = np.zeros(len(args), np.int64)
        for part, rows in self._owned(predicate, args):
            counts[rows] = part.asserted(predicate, args[rows])
        return counts

    def members(self, predicate: str, keys: NDArray[np.int32]) -> NDArray[np.int32]:
        """The present facts that begin with one of these ids, int32 of shape (n, arity)."""
        return np.concatenate([store.members(predicate, keys) for store in self._stores])

    def select(
        self, predicate: str, bound: Mapping[int, int], iteration: int = LAST_ITERATION
    ) -> Selection:
        """The facts of a predicate with these ids at these positions, as of an iteration."""
        found = [store.select(predicate, bound, iteration) for store in self._stores]
        return Selection(
            np.concatenate([each.args for each in found]),
            np.concatenate([each.stratum for each in found]),
            np.concatenate([each.since for each in found]),
            np.concatenate([each.until for each in found]),
            np.concatenate([each.asserted for each in found]),
            np.concatenate([each.total for each in found]),
        )

    def statistics(self) -> Statistics:
        """Size of the state, as that of one store; bytes are those of all parts, with copies."""
        found = [store.statistics() for store in self._stores]
        size = sum(each.bytes for each in found)
        terms = self._dictionary
        records = fullest(*(each.capacity.records for each in found))
        return Statistics(
            facts=sum(each.facts for each in found),
            present=sum(each.present for each in found),
            asserted=sum(each.asserted for each in found),
            below_zero=sum(each.below_zero for each in found),
            trace_rows=sum(each.trace_rows for each in found),
            bytes=size,
            overflows=self._overflows + sum(each.overflows for each in found),
            capacity=Capacity(size + terms.nbytes, records, terms.text, terms.ids),
        )
