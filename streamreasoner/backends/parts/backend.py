"""The engine's port over parts. Invariant: every count is that of one store with the whole state.

A change of the program may change who owns a fact. So the state is put together for the epoch that
changes the program, and divided anew when it is committed.
"""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from streamreasoner.backends.parts.part import owned_rows
from streamreasoner.backends.parts.whole import Whole
from streamreasoner.engine.ports import (
    LAST_ITERATION,
    UNLIMITED,
    Effort,
    Selection,
    Statistics,
    Work,
)
from streamreasoner.engine.updates import TraceRows, Updates, check_arity
from streamreasoner.plan.copies import with_copies
from streamreasoner.plan.division import divide
from streamreasoner.system.capacity import Capacity
from streamreasoner.system.memory import fullest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.backends.parts.port import Parts, Place
    from streamreasoner.engine.ports import EpochChanges
    from streamreasoner.plan.division import Division
    from streamreasoner.plan.program_change import FullEvaluation, ProgramChange
    from streamreasoner.plan.program_plan import Lattice, ProgramPlan, Reduction
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.values.value_columns import Values


class PartsBackend:
    """Keeps the state in parts, each of which owns facts.

    Args:
        plan: The program.
        dictionary: Assigns ids to the program's constants.
        values: Values of terms.
        place: Makes the parts.
        division: Divides a program; by default as the program says.
    """

    def __init__(
        self,
        plan: ProgramPlan,
        dictionary: Dictionary,
        values: Values,
        place: Place,
        *,
        division: Callable[[ProgramPlan], Division] = divide,
    ) -> None:
        self._dictionary, self._values = dictionary, values
        self._place, self._divide = place, division
        self._overflows = 0
        self._work: Work | None = None
        self._use(plan)

    def _use(self, plan: ProgramPlan) -> None:
        """Begin anew with empty parts for a program."""
        division = self._divide(plan)
        self._plan, self._owners = plan, division.owners
        self._parts: Parts = self._place(with_copies(plan, division), division.owners)
        self._former, self._after = self._parts, plan

    @property
    def parts(self) -> Parts:
        """The parts; the whole state in an epoch that changes the program."""
        return self._parts

    def add(self, updates: Updates) -> None:
        """Add multiplicities to facts, mostly asserted ones, in the stratum each belongs to."""
        if not updates.iteration:
            self._parts.add(updates)
            return
        owned = self._owned(updates.predicate, updates.args)
        self._parts.ask_each([_updates(updates, rows) for rows in owned])

    def _owned(self, predicate: str, args: NDArray[np.int32]) -> Iterator[NDArray[np.intp] | None]:
        """The numbers of the facts that each part owns; None if it owns none of them."""
        check_arity(predicate, args, self._plan.arities)
        return owned_rows(self._owners[predicate], args, self._parts.count)

    def migrate(self, change: ProgramChange) -> None:
        """Put the state together, as another program needs it."""
        whole = Whole(change.before, self._dictionary, self._values)
        whole.restore(self.trace(predicate) for predicate in change.before.arities)
        self._parts, self._after = whole, change.after
        whole.migrate(change)

    def evaluate(self, rules: Sequence[FullEvaluation]) -> None:
        """Add or subtract what rules of the change derive from all facts."""
        self._parts.ask(methodcaller("evaluate", rules))

    def retract(self, reduction: Reduction) -> None:
        """Subtract the results of a reduction of the former program."""
        self._parts.ask(methodcaller("retract", reduction))

    def resettle(self, lattices: Sequence[Lattice]) -> None:
        """Touch what the change has changed, and the facts of lattices that one program lacks."""
        self._parts.ask(methodcaller("resettle", lattices))

    def effort(self) -> Effort | None:
        """What the epoch takes in all parts; None if one has no room for a second state."""
        found: list[Effort | None] = self._parts.ask(methodcaller("effort"))
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        return Effort(
            asserted=sum(each.asserted for each in known),
            derivations=sum(each.derivations for each in known),
            work=sum(each.work for each in known),
        )

    def limit(self, work: int) -> None:
        """Set the budget of each epoch; the first part to spend its share gives up for all."""
        share = work if work == UNLIMITED else -(-work // self._parts.count)
        self._parts.ask(methodcaller("limit", share))

    def recompute(self) -> bool:
        """Begin the epoch anew, in empty second states of all parts with what is asserted."""
        return self._parts.recompute()

    def enter(self, stratum: int) -> None:
        """Start a stratum, with the final changes of lower strata as deltas at iteration 0."""
        self._parts.enter(stratum)

    def reduce(self, reduction: Reduction) -> None:
        """Replace the results of changed groups of a reduction; touches heads at iteration 1."""
        self._parts.reduce(reduction)

    def next_touched(self, after: int) -> int:
        """The first iteration after *after* to settle, or -1 if the stratum is done."""
        return self._parts.next_touched(after)

    def settle(self, iteration: int) -> int:
        """Step 1: transitions at *iteration*, and then copies; returns the number of deltas."""
        return self._parts.settle(iteration)

    def derive(self, iteration: int) -> None:
        """Steps 2 and 3: run the deltas through the plans, and send heads to their owners."""
        self._parts.derive(iteration)

    def present(self, predicate: str, bound: Mapping[int, int]) -> NDArray[np.int32]:
        """The present facts with these ids at these positions, as settled so far."""
        return np.concatenate(self._parts.ask(methodcaller("present", predicate, bound)))

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        return self._parts.changes()

    def work(self) -> Work:
        """What rules did in the last epoch, in all parts together."""
        if self._work is not None:
            return self._work
        found = self._parts.ask(methodcaller("work"))
        firings = [each.firings for each in found]
        times = [each.nanoseconds for each in found]
        return Work(found[0].rules, np.sum(firings, axis=0), np.sum(times, axis=0))

    def commit(self) -> None:
        """Make the epoch's changes final."""
        self._parts.commit()
        self._work = None
        if self._parts is not self._former:
            self._divide_anew()

    def _divide_anew(self) -> None:
        """Divide the state that was put together."""
        whole, plan = self._parts, self._after
        self._work = self.work()
        self._overflows += sum(each.overflows for each in self._statistics(self._former))
        self._overflows += sum(each.overflows for each in self._statistics(whole))
        self._use(plan)
        self.restore(
            rows for name in plan.arities for rows in whole.ask(methodcaller("trace", name))
        )

    def rollback(self) -> None:
        """Undo the epoch completely."""
        if self._parts is self._former:
            self._parts.rollback()
        self._parts = self._former

    def restore(self, rows: Iterable[TraceRows]) -> None:
        """Load the trace of an earlier run into an empty state."""
        for batch in rows:
            owned = self._owned(batch.predicate, batch.args)
            self._parts.load([_rows(batch, chosen) for chosen in owned])
        self._parts.finish_restore()

    def trace(self, predicate: str) -> TraceRows:
        """Every (fact, iteration, multiplicity) of a predicate, in no particular order."""
        found = self._parts.ask(methodcaller("trace", predicate))
        return TraceRows(
            predicate,
            np.concatenate([rows.args for rows in found]),
            np.concatenate([rows.iteration for rows in found]),
            np.concatenate([rows.multiplicity for rows in found]),
        )

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        return np.concatenate(self._parts.ask(methodcaller("facts", predicate)))

    def facts_of(self, predicates: Iterable[str]) -> dict[str, NDArray[np.int32]]:
        """The present facts of predicates, from one pass over the state."""
        names = [*predicates]
        found = self._parts.ask(methodcaller("facts_of", names))
        return {name: np.concatenate([each[name] for each in found]) for name in names}

    def asserted(self, predicate: str, args: NDArray[np.int32]) -> NDArray[np.int64]:
        """Multiplicities at iteration 0 of facts, int64 of shape (n,)."""
        counts = np.zeros(len(args), np.int64)
        owned = [*self._owned(predicate, args)]
        found = self._parts.ask_each(
            [
                None if rows is None else methodcaller("asserted", predicate, args[rows])
                for rows in owned
            ]
        )
        for rows, own in zip(owned, found, strict=True):
            if rows is not None:
                counts[rows] = own
        return counts

    def members(self, predicate: str, keys: NDArray[np.int32]) -> NDArray[np.int32]:
        """The present facts that begin with one of these ids, int32 of shape (n, arity)."""
        return np.concatenate(self._parts.ask(methodcaller("members", predicate, keys)))

    def select(
        self, predicate: str, bound: Mapping[int, int], iteration: int = LAST_ITERATION
    ) -> Selection:
        """The facts of a predicate with these ids at these positions, as of an iteration."""
        found = self._parts.ask(methodcaller("select", predicate, bound, iteration))
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
        found = self._statistics(self._parts)
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

    @staticmethod
    def _statistics(parts: Parts) -> list[Statistics]:
        return parts.ask(methodcaller("statistics"))


def _updates(updates: Updates, chosen: NDArray[np.intp] | None) -> Callable[[Any], None] | None:
    """Adds the chosen ones to a store."""
    if chosen is None:
        return None
    rows = Updates(
        updates.predicate,
        updates.args[chosen],
        updates.multiplicity[chosen],
        iteration=updates.iteration,
    )
    return methodcaller("add", rows)


def _rows(trace: TraceRows, chosen: NDArray[np.intp] | None) -> TraceRows | None:
    """The chosen rows of a trace."""
    if chosen is None:
        return None
    args, at = trace.args[chosen], trace.iteration[chosen]
    return TraceRows(trace.predicate, args, at, trace.multiplicity[chosen])
