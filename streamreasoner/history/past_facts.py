"""Facts at the ends of past epochs, and how they changed. Invariant: no answer is approximate.

Presence comes from the trace, with the program that was in effect. What was before the trace
reaches is in `changes` only: it says what was published, which is not presence (a derived fact that
is asserted too leaves the published ones), so it is kept apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.updates import added_by
from streamreasoner.facts import Fact, FactPattern, decode_facts, distinct, in_order, matching
from streamreasoner.history.direct import direct_at
from streamreasoner.history.presence import candidates, present, winners
from streamreasoner.history.programs import in_effect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from numpy.typing import NDArray

    from streamreasoner.facts import Terms
    from streamreasoner.history.epochs import Past
    from streamreasoner.history.programs import InEffect
    from streamreasoner.history.stored_terms import StoredTerms
    from streamreasoner.plan.program_plan import Lattice
    from streamreasoner.program.checked import CheckedProgram


@dataclass(frozen=True, slots=True)
class Event:
    """An epoch at which a fact became present or absent, or was published as such.

    Attributes:
        epoch: The epoch.
        time: Its time, None if it published nothing.
        diff: +1 or -1.
    """

    epoch: int
    time: datetime | None
    diff: int


@dataclass(frozen=True, slots=True)
class History:
    """What is known of a fact.

    Attributes:
        was_present: Whether it was present where `events` begin: at the end of the oldest epoch of
            the trace, or false before the first epoch.
        events: When its presence changed after that, oldest first.
        published: Its rows in `changes` up to there, oldest first.
    """

    was_present: bool
    events: tuple[Event, ...]
    published: tuple[Event, ...]

    @property
    def is_present(self) -> bool:
        """Whether it is present at the end of the last epoch."""
        return self.events[-1].diff > 0 if self.events else self.was_present


class PastFacts:
    """Answers questions about the ends of epochs.

    Args:
        past: The tables.
    """

    def __init__(self, past: Past) -> None:
        self.past = past

    @cached_property
    def _terms(self) -> StoredTerms:
        return self.past.terms()

    @cached_property
    def _arities(self) -> dict[str, int]:
        """Arity of every predicate that a program has had; it never changes."""
        programs = self.past.programs_until(self.past.last)
        return {name: arity for _, text in programs for name, arity in text.arities.items()}

    def program(self, epoch: int) -> CheckedProgram:
        """The program in effect at the end of an epoch.

        Raises:
            StateError: This version does not accept it.
        """
        return self._program(epoch).checked

    def facts(self, pattern: FactPattern, epoch: int) -> Iterator[Fact]:
        """The present facts that match, in order.

        Raises:
            StateError: The epoch cannot be asked for, or the state is damaged.
        """
        rows = self._rows(pattern.predicate, epoch)
        rows = rows[matching(pattern, rows, self._terms)]
        yield from decode_facts(pattern.predicate, in_order(rows, self._terms), self._terms)

    def present(self, predicate: str, epoch: int) -> tuple[NDArray[np.int32], Terms]:
        """The present facts of a predicate, in no particular order.

        Args:
            predicate: A predicate of the program in effect.
            epoch: At whose end.

        Returns:
            Rows of ids, of shape (n, arity), and the terms of the ids.

        Raises:
            StateError: The epoch cannot be asked for, or the state is damaged.
        """
        return self._rows(predicate, epoch), self._terms

    def published(
        self, predicate: str, epoch: int, *, asserted: bool, direct: bool = False
    ) -> tuple[NDArray[np.int32], Terms]:
        """The facts that an output topic has of a predicate, if it has all of its changes.

        Args:
            predicate: A predicate of the program in effect.
            epoch: At whose end.
            asserted: Whether facts that are asserted are among them.
            direct: Whether facts are left out that are there only as copies along hierarchies.

        Returns:
            Rows of ids in order, of shape (n, arity), and the terms of the ids.

        Raises:
            StateError: The epoch cannot be asked for, or the state is damaged.
        """
        rows = self._rows(predicate, epoch)
        if not asserted:
            given = [
                candidates(added.args, added.multiplicity)
                for added in added_by(self.past.trace(epoch, {predicate}))
            ]
            both = np.concatenate([rows, *given])
            signs = np.ones(len(both), np.int64)
            signs[len(rows) :] = -1
            rows = candidates(both, signs)
        if direct:
            facts, view = direct_at(self.past, self.program(epoch), self._terms, epoch)
            rows = rows[facts.among(view, predicate, rows)]
        return in_order(rows, self._terms), self._terms

    def differences(
        self, first: int, last: int, *, hidden: bool = False
    ) -> Iterator[tuple[Fact, int]]:
        """The facts that are present at the end of one of two epochs only, in order.

        Args:
            first: One epoch.
            last: The other.
            hidden: Whether facts of hidden predicates are among them.

        Returns:
            Each with +1 if it came and -1 if it went, from *first* to *last*.

        Raises:
            StateError: An epoch cannot be asked for, or the state is damaged.
        """
        programs = [self.program(epoch) for epoch in (first, last)]
        arities = [program.arities for program in programs]
        touched = self.past.touched(first, last)
        names = arities if hidden else [program.visible for program in programs]
        for predicate in sorted({*names[0], *names[1]}):
            lattices = [self._lattices(predicate, epoch) for epoch in (first, last)]
            both_have = all(predicate in each for each in arities)
            if both_have and lattices[0] == lattices[1] and predicate not in touched:
                continue
            before, after = (self._rows(predicate, epoch) for epoch in (first, last))
            both = np.concatenate([before, after])
            signs = np.repeat([-1, 1], [len(before), len(after)])
            rows, places = distinct(both)
            sums = np.bincount(places, weights=signs, minlength=len(rows))
            gone, come = (in_order(rows[sums == sign], self._terms) for sign in (-1, 1))
            yield from ((fact, -1) for fact in decode_facts(predicate, gone, self._terms))
            yield from ((fact, 1) for fact in decode_facts(predicate, come, self._terms))

    def history(self, fact: Fact) -> History:
        """When a fact became present and absent.

        Raises:
            StateError: The state is damaged.
        """
        past = self.past
        times = past.times()
        ids = [self._terms.find(term) for term in fact.arguments]
        found = [] if None in ids else self._presence(fact.predicate, np.array(ids, np.int32))
        baseline, *later = found or [(past.oldest, False)]
        if not past.summed:
            baseline, later = (-1, False), [baseline, *later]
        events, is_present = [], baseline[1]
        for epoch, now in later:
            if now != is_present:
                events.append(Event(epoch, times.get(epoch), 1 if now else -1))
            is_present = now
        published = tuple(
            Event(*row)
            for row in past.changes(fact.predicate, fact.arguments)
            if row[0] <= baseline[0]
        )
        return History(baseline[1], tuple(events), published)

    def _presence(self, predicate: str, ids: NDArray[np.int32]) -> list[tuple[int, bool]]:
        """Whether a fact is present at the ends of all epochs where that may change."""
        args, epochs, multiplicity = self.past.rows(predicate)
        if args.shape[1:] != ids.shape:
            return []
        programs = self.past.programs_until(self.past.last)
        compared = {
            lattice.position
            for epoch, _ in programs
            for lattice in self._lattices(predicate, epoch)
        }
        same = [position for position in range(len(ids)) if position not in compared]
        group = (args[:, same] == ids[same]).all(axis=1)
        args, epochs, multiplicity = args[group], epochs[group], multiplicity[group]
        moments = {self.past.oldest, *epochs.tolist(), *(epoch for epoch, _ in programs)}
        found = []
        for moment in sorted(moment for moment in moments if moment >= self.past.oldest):
            until = epochs <= moment
            lattices = self._lattices(predicate, moment)
            rows = present(args[until], multiplicity[until], lattices, self._terms)
            known = predicate in self.program(moment).arities
            found.append((moment, known and bool((rows == ids).all(axis=1).any())))
        return found

    def _rows(self, predicate: str, epoch: int) -> NDArray[np.int32]:
        """The present facts of a predicate, none if the program in effect does not have it."""
        self.past.check(epoch)
        none = np.empty((0, self._arities[predicate]), np.int32)
        if predicate not in self.program(epoch).arities:
            return none
        parts = [
            candidates(block.args, block.multiplicity)
            for block in self.past.trace(epoch, {predicate})
        ]
        rows = np.concatenate([none, *parts])
        return winners(rows, self._lattices(predicate, epoch), self._terms)

    def _lattices(self, predicate: str, epoch: int) -> tuple[Lattice, ...]:
        return self._program(epoch).lattices(predicate)

    def _program(self, epoch: int) -> InEffect:
        return in_effect(self.past.programs_until(epoch), epoch)
