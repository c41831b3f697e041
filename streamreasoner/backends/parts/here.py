"""The parts of a state in this process.

Invariant: steps are taken in threads if there is much to do, or else in turns, in one call of a
kernel.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from streamreasoner.backends.columnar.kernels.epoch import turns
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.placement import place_together
from streamreasoner.backends.columnar.reading import cells_of, relation_of
from streamreasoner.backends.parts.crew import Crew
from streamreasoner.backends.parts.part import Part
from streamreasoner.engine.ports import EpochChanges
from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.system.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamreasoner.backends.parts.port import Owners
    from streamreasoner.engine.updates import TraceRows, Updates
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import Lattice, ProgramPlan, Reduction
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.values.value_columns import Values

LARGE = 1 << 12
"""Rows or deltas from which threads pay off: a step of theirs waits for some 50 microseconds."""


class PartsHere:
    """Parts that share the memory of this process.

    Args:
        dictionary: Assigns ids to the program's constants.
        values: Values of terms.
        plan: The plan of a part.
        owners: The owning argument of each predicate.
        count: The number of parts.
        crew: Takes steps in threads.

    Attributes:
        large: Rows, or deltas, from which steps are taken in threads.
        parts: The parts.
        addresses: The addresses of their address tables, int64 of shape (parts,).
    """

    large = LARGE

    def __init__(  # noqa: PLR0917 - what all programs share comes first
        self,
        dictionary: Dictionary,
        values: Values,
        count: int,
        crew: Crew,
        plan: ProgramPlan,
        owners: Owners,
    ) -> None:
        parts: list[Part] = []
        for number in range(count):
            parts.append(
                Part(
                    plan,
                    dictionary,
                    values,
                    owning=owners,
                    number=number,
                    parts=count,
                    compiled=parts[0].compiled if parts else None,
                    share=count,
                )
            )
        self._values, self.count, self._crew = values, count, crew
        self._is_large = self._was_large = False
        self.parts = tuple(parts)
        self._read_program()
        self._locate()

    def _read_program(self) -> None:
        """Find out what the parts have compiled."""
        self._walked = self.parts[0].walked
        self._numbering, tables = self.parts[0].compiled
        self._cyclic = tables.cyclic

    def _locate(self) -> None:
        """Find where the parts are."""
        self.addresses = np.array([part.table.ctypes.data for part in self.parts], np.int64)

    def ask(self, question: Callable[[Any], Any]) -> list[Any]:
        """What each part answers."""
        return [*map(question, self.parts)]

    def ask_each(self, questions: Sequence[Callable[[Any], Any] | None]) -> list[Any]:
        """What each part answers to its own question."""
        return [
            None if question is None else question(part)
            for question, part in zip(questions, self.parts, strict=True)
        ]

    def add(self, updates: Updates) -> None:
        """Add asserted multiplicities; each part reads all rows and takes its own."""
        relation, arity = relation_of(self._numbering, updates.predicate, updates.args)
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
            self._crew.take(lambda number: step(self.parts[number]), self.count)
        else:
            for part in self.parts:
                step(part)

    def recompute(self) -> bool:
        """Begin the epoch anew; whether each part had room for a second state."""
        try:
            states = {part: part.second_state() for part in self.parts}
        except EnvironmentSetupError:
            for part in self.parts:
                part.begin_again()
            return False
        self._is_large |= sum(part.statistics().asserted for part in self.parts) >= self.large
        self._take(lambda part: part.begin_anew(states[part]))
        self._locate()
        return True

    def adopt(self, change: ProgramChange, owners: Owners) -> None:
        """Keep the state as another plan of a part needs it, which the first part compiles."""
        first, *others = self.parts
        self._is_large |= sum(part.statistics().facts for part in self.parts) >= self.large
        first.adopt(change, owners)
        for part in others:
            part.adopt(change, owners, first.compiled[1].for_empty_state())
        self._read_program()

    def evaluate(self) -> None:
        """Evaluate the rules of the change, and send heads to their owners."""
        self._send(Part.evaluate)

    def retract(self, reduction: Reduction) -> None:
        """Subtract the results of a reduction, and send them to their owners."""
        self._send(lambda part: part.retract(reduction))

    def resettle(self, lattices: Sequence[Lattice]) -> None:
        """Touch what the change has changed."""
        self._take(lambda part: part.resettle(lattices))

    def leave(self) -> None:
        """Send facts to the parts that own them now, and empty all copies."""
        self._send(Part.leave)

    def _send(self, step: Callable[[Part], object]) -> None:
        """Take a step in all parts before the first stratum, and fetch what it has sent."""
        self._take(step)
        self._take(lambda part: part.fetch_early(self.addresses))
        self._take(Part.empty_outbox)

    def enter(self, stratum: int) -> None:
        """Start a stratum."""
        self.parts[0].extend_values()
        self._stratum = stratum
        if self._is_large:
            self._take(lambda part: part.enter(stratum))
        else:
            turns.enter_all(self.addresses, stratum)

    def reduce(self, reduction: Reduction) -> None:
        """Replace results of a reduction, and send them to their owners."""
        self._take(lambda part: part.reduce(reduction))
        self._check(turns.exchange_heads(self.addresses))

    def next_touched(self, after: int) -> int:
        """The first iteration after *after* that some part has to settle, or -1."""
        return turns.next_touched_all(self.addresses, after)

    def settle(self, iteration: int) -> int:
        """Settle an iteration, and then copies; returns the number of deltas."""
        if self._is_large:
            self._take(lambda part: part.settle(iteration))
            self._take(lambda part: part.fetch_changes(self.addresses, iteration))
        else:
            self._check(turns.settle_all(self.addresses, self._values.table, iteration))
        deltas = turns.delta_count(self.addresses)
        self._is_large = deltas >= self.large
        return deltas

    def derive(self, iteration: int) -> None:
        """Apply the deltas, and send heads to their owners."""
        if self._is_large:
            self._take(lambda part: part.derive(iteration))
            self._take(lambda part: part.fetch_heads(self.addresses))
            self._take(Part.empty_outbox)
            return
        if self._stratum in self._cyclic:
            for part in self.parts:
                part.postpone()
        self._check(turns.derive_all(self.addresses, self._values.table, iteration))

    def _check(self, code: int) -> None:
        if code != layout.OK:
            number, status = divmod(code, turns.STATUSES)
            self.parts[number].check(status)

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        if self.parts[0].is_anew:
            self._is_large = self._was_large
            self._take(Part.compare)
        found = [part.changes() for part in self.parts if part.has_changes]
        return EpochChanges(
            tuple(chain.from_iterable(each.derived for each in found)),
            tuple(chain.from_iterable(each.closure for each in found)),
            tuple(chain.from_iterable(each.trace for each in found)),
        )

    def commit(self) -> None:
        """Make the epoch's changes final."""
        if self._was_large or self.parts[0].is_anew or self.parts[0].is_changing:
            self._is_large = self._was_large
            self._take(lambda part: part.commit())
        else:
            for part in self.parts:
                part.note_records()
            turns.commit_all(self.addresses)
        self._is_large = self._was_large = False

    def rollback(self) -> None:
        """Undo the epoch completely."""
        self._is_large = self._was_large = False
        for part in self.parts:
            part.rollback()
        self._read_program()
        self._locate()

    def load(self, rows: Sequence[TraceRows | None]) -> None:
        """Load a block of a trace: the rows that each part owns."""
        for part, own in zip(self.parts, rows, strict=True):
            if own is not None:
                part.restore_rows(own)

    def finish_restore(self) -> None:
        """Settle what was loaded, and copy it."""
        self.parts[0].extend_values()
        self._take(Part.settle_restored)
        settled = [(part.table, part.copied()) for part in self.parts]
        self._take(lambda part: part.fetch_facts(settled))
        self._take(Part.arrange_copies)


def parts_here(
    dictionary: Dictionary, values: Values, count: int, crew: Crew | None = None
) -> Callable[[ProgramPlan, Owners], PartsHere]:
    """Makes parts in this process.

    Args:
        dictionary: Assigns ids to the program's constants.
        values: Values of terms.
        count: The number of parts.
        crew: Takes steps in threads; by default one for each part, as long as there are processors.
    """
    threads = Crew(min(count, processors())) if crew is None else crew
    return lambda plan, owners: PartsHere(dictionary, values, count, threads, plan, owners)
