"""The engine's port over parts. Invariant: every count is that of one store with the whole state.

A change of the program is made by the parts. Before it they exchange facts, if the new program has
other owners or reads other copies, and after it again, so that no copies stay that nothing reads.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from streamreasoner.backends.parts.part import owned_rows
from streamreasoner.engine.ports import (
    LAST_ITERATION,
    NO_BOUND,
    UNLIMITED,
    Effort,
    Selection,
    Statistics,
    Work,
)
from streamreasoner.engine.updates import TraceRows, Updates, check_arity
from streamreasoner.errors import EnvironmentSetupError, StateFullError
from streamreasoner.plan.copies import with_copies
from streamreasoner.plan.division import chosen_owners, divide
from streamreasoner.plan.program_change import program_change
from streamreasoner.plan.redivision import with_same_owners
from streamreasoner.system.capacity import Capacity
from streamreasoner.system.memory import fullest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.backends.parts.port import Owners, Parts, Place
    from streamreasoner.engine.ports import Bound, EpochChanges
    from streamreasoner.plan.division import Division
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import Copy, Lattice, ProgramPlan, Reduction
    from streamreasoner.rdf.dictionary import Dictionary


class PartsBackend:
    """Keeps the state in parts, each of which owns facts.

    Args:
        plan: The program.
        dictionary: Assigns ids to the program's constants.
        place: Makes the parts.
        choose: Chooses the owning arguments for a program, next to those of facts that are there;
            by default as the program says.

    Attributes:
        parts: The parts.
    """

    def __init__(
        self,
        plan: ProgramPlan,
        dictionary: Dictionary,
        place: Place,
        *,
        choose: Callable[[ProgramPlan, Owners], Owners] = chosen_owners,
    ) -> None:
        self._dictionary, self._choose = dictionary, choose
        self._work: Work | None = None
        self._plan, self._division = plan, divide(plan, choose(plan, {}))
        self._part = with_copies(plan, self._division)
        self._wanted: Owners | None = None
        self._former = self._plan, self._division, self._part
        self.parts: Parts = place(self._part, self._division.owners)

    def add(self, updates: Updates) -> None:
        """Add multiplicities to facts, mostly asserted ones, in the stratum each belongs to."""
        if not updates.iteration:
            self.parts.add(updates)
            return
        owned = self._owned(updates.predicate, updates.args)
        self.parts.ask_each([_updates(updates, rows) for rows in owned])

    def _owned(self, predicate: str, args: NDArray[np.int32]) -> Iterator[NDArray[np.intp] | None]:
        """The numbers of the facts that each part owns; None if it owns none of them."""
        check_arity(predicate, args, self._plan.arities)
        return owned_rows(self._division.owners[predicate], args, self.parts.count)

    def migrate(self, change: ProgramChange) -> None:
        """Keep the state as another program needs it, in parts that both programs allow."""
        wanted = self._choose(change.after, self._division.owners)
        first, second = with_same_owners(change, self._division, wanted)
        # What an earlier program has left may be of a predicate that neither program has.
        left = [
            each for each in self._part.copies if each.pattern.predicate in change.after.arities
        ]
        copies = dict.fromkeys((*second.copies, *first.copies, *left))
        # The parts then have a place for each predicate of the new program.
        plan = replace(change.before, arities=change.after.arities, hidden=change.after.hidden)
        self._redivide(plan, first, copies)
        part = with_copies(change.after, second, copies)
        self.parts.adopt(program_change(self._part, part), second.owners)
        self._plan, self._division, self._part = change.after, second, part
        self._wanted = wanted

    def _redivide(self, plan: ProgramPlan, division: Division, copies: Iterable[Copy]) -> None:
        """Divide the state in another way, between epochs, unless that changes nothing.

        Args:
            plan: The program in effect.
            division: How it is to be divided.
            copies: The copies that are needed.
        """
        part = with_copies(plan, division, copies)
        is_same = (
            division.owners.items() >= self._division.owners.items()
            and {*part.copies} == {*self._part.copies}
            and part.strata == self._part.strata
        )
        if not is_same:
            try:
                self.parts.adopt(program_change(self._part, part), division.owners)
                self.parts.leave()
                self.parts.finish_restore()
            except BaseException:
                self.parts.rollback()
                raise
            self.parts.commit()
        self._plan, self._division, self._part = plan, division, part
        self._former = plan, division, part

    def evaluate(self) -> None:
        """Add or subtract what the rules of the change derive from all facts."""
        self.parts.evaluate()

    def retract(self, reduction: Reduction) -> None:
        """Subtract the results of a reduction of the former program."""
        self.parts.retract(reduction)

    def resettle(self, lattices: Sequence[Lattice]) -> None:
        """Touch what the change has changed, and the facts of lattices that one program lacks."""
        self.parts.resettle(lattices)

    def effort(self) -> Effort | None:
        """What the epoch takes in all parts; None if one has no room for a second state."""
        found: list[Effort | None] = self.parts.ask(methodcaller("effort"))
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
        share = work if work == UNLIMITED else -(-work // self.parts.count)
        self.parts.ask(methodcaller("limit", share))

    def recompute(self) -> bool:
        """Begin the epoch anew, in empty second states of all parts with what is asserted."""
        return self.parts.recompute()

    def enter(self, stratum: int) -> None:
        """Start a stratum, with the final changes of lower strata as deltas at iteration 0."""
        self.parts.enter(stratum)

    def reduce(self, reduction: Reduction) -> None:
        """Replace the results of changed groups of a reduction; touches heads at iteration 1."""
        self.parts.reduce(reduction)

    def next_touched(self, after: int) -> int:
        """The first iteration after *after* to settle, or -1 if the stratum is done."""
        return self.parts.next_touched(after)

    def settle(self, iteration: int) -> int:
        """Step 1: transitions at *iteration*, and then copies; returns the number of deltas."""
        return self.parts.settle(iteration)

    def derive(self, iteration: int) -> None:
        """Steps 2 and 3: run the deltas through the plans, and send heads to their owners."""
        self.parts.derive(iteration)

    def present(self, predicate: str, bound: Mapping[int, int]) -> NDArray[np.int32]:
        """The present facts with these ids at these positions, as settled so far."""
        return np.concatenate(self.parts.ask(methodcaller("present", predicate, bound)))

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        return self.parts.changes()

    def work(self) -> Work:
        """What rules did in the last epoch, in all parts together."""
        if self._work is not None:
            return self._work
        found = self.parts.ask(methodcaller("work"))
        firings = [each.firings for each in found]
        times = [each.nanoseconds for each in found]
        return Work(found[0].rules, np.sum(firings, axis=0), np.sum(times, axis=0))

    def commit(self) -> None:
        """Make the epoch's changes final."""
        self.parts.commit()
        self._work = None
        wanted, self._wanted = self._wanted, None
        self._former = self._plan, self._division, self._part
        if wanted is not None:
            self._work = self.work()
            # Without room for it, the state stays divided as it is.
            with suppress(StateFullError, EnvironmentSetupError):
                division = divide(self._plan, wanted)
                self._redivide(self._plan, division, division.copies)

    def rollback(self) -> None:
        """Undo the epoch completely; the parts of both programs stay until the next change."""
        self._wanted = None
        self._plan, self._division, self._part = self._former
        self.parts.rollback()

    def restore(self, rows: Iterable[TraceRows]) -> None:
        """Load the trace of an earlier run into an empty state."""
        for batch in rows:
            owned = self._owned(batch.predicate, batch.args)
            self.parts.load([_rows(batch, chosen) for chosen in owned])
        self.parts.finish_restore()
        self.parts.commit()

    def trace(self, predicate: str, bound: Bound = NO_BOUND) -> TraceRows:
        """Every (fact, iteration, multiplicity) of the facts with these ids at these positions."""
        return TraceRows.of(self.parts.ask(methodcaller("trace", predicate, bound)))

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        return np.concatenate(self.parts.ask(methodcaller("facts", predicate)))

    def facts_of(self, predicates: Iterable[str]) -> dict[str, NDArray[np.int32]]:
        """The present facts of predicates, from one pass over the state."""
        names = [*predicates]
        found = self.parts.ask(methodcaller("facts_of", names))
        return {name: np.concatenate([each[name] for each in found]) for name in names}

    def asserted(self, predicate: str, args: NDArray[np.int32]) -> NDArray[np.int64]:
        """Multiplicities at iteration 0 of facts, int64 of shape (n,)."""
        counts = np.zeros(len(args), np.int64)
        owned = [*self._owned(predicate, args)]
        found = self.parts.ask_each(
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
        return np.concatenate(self.parts.ask(methodcaller("members", predicate, keys)))

    def select(
        self, predicate: str, bound: Mapping[int, int], iteration: int = LAST_ITERATION
    ) -> Selection:
        """The facts of a predicate with these ids at these positions, as of an iteration."""
        return Selection.of(self.parts.ask(methodcaller("select", predicate, bound, iteration)))

    def statistics(self) -> Statistics:
        """Size of the state, as that of one store; bytes are those of all parts, with copies."""
        found: list[Statistics] = self.parts.ask(methodcaller("statistics"))
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
            overflows=sum(each.overflows for each in found),
            capacity=Capacity(size + terms.nbytes, records, terms.text, terms.ids),
        )


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
