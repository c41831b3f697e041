"""Facts that expire. Invariant: the set of their updates and the frontier decide their state.

A fact of an `@expires` is a *register*. With a and r the greatest times of its assertions and of
its retractions, D the duration and S the step, the fact is present if and only if

    a > r  and  ceil((a + D) / S) * S > frontier

A maximum is commutative, associative and idempotent: the order of updates, their epochs and their
repetition change nothing, and a later assertion renews the fact (a last-writer-wins register,
Shapiro et al. 2011, section 3.2). A register is forgotten when no earlier update can matter any
more, that is when one at max(a, r) would be over.

The times are state like any other, the asserted multiplicities of two hidden predicates: they are
stored, restored, and rolled back with the rest of the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.input.deadlines import Deadlines
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import EngineError
from streamreasoner.facts import Bound, distinct, having, ids_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.ports import Backend
    from streamreasoner.plan.program_plan import Expiry

NO_FRONTIER = int(np.iinfo(np.int64).min)
"""The frontier before the first event time."""

_ZERO = 1 << 56
"""Multiplicity of the year 1970: multiplicities of times are positive, and 0 is not a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Admitted:
    """An epoch's input, with what its frontier lets expire.

    Attributes:
        updates: What changes the multiplicities of facts.
        late: Number of assertions that were over when they came.
        expired: Number of facts that leave because of their time.
    """

    updates: Iterable[Updates]
    late: int = 0
    expired: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """Registers to look at again once an epoch is final."""

    register: _Register
    args: NDArray[np.int32]
    due: NDArray[np.int64]


def frontier_of(updates: Iterable[Updates], lateness: int) -> int:
    """The frontier that the times of updates move time to; `NO_FRONTIER` without times.

    Args:
        updates: The updates of an epoch.
        lateness: How far the frontier stays behind the greatest time, in milliseconds.
    """
    times = [
        int(each.times.max()) for each in updates if each.times is not None and len(each.times) > 0
    ]
    return max(times) - lateness if times else NO_FRONTIER


class Registers:
    """The registers of a program; the state of a backend has their times.

    Args:
        expiries: What expires.
        intern: Id of a constant.
    """

    def __init__(self, expiries: Sequence[Expiry], intern: Callable[[str], int]) -> None:
        self.expiries = tuple(expiries)
        self._registers = [_Register(expiry, intern) for expiry in expiries]
        self._restored = not self._registers
        self._kept: list[_Kept] = []
        self._frontier = NO_FRONTIER

    def admit(self, updates: Iterable[Updates], frontier: int, backend: Backend) -> Admitted:
        """Split input into what is added as it is, and what registers make of the rest.

        Args:
            updates: Input of one epoch.
            frontier: That of the epoch, never below the one before, in milliseconds since 1970.
            backend: Its state is that before the epoch.

        Raises:
            EngineError: A fact that expires has no time.
        """
        if not self._registers:
            return Admitted(updates)
        if not self._restored:
            self._restore(backend)
        plain: list[Updates] = []
        matching: list[list[Updates]] = [[] for _ in self._registers]
        for each in updates:
            rest = np.ones(len(each.args), np.bool_)
            for register, found in zip(self._registers, matching, strict=True):
                rows = register.matches(each)
                if rows.any():
                    found.append(each.take(rows))
                    rest &= ~rows
            if rest.any():
                plain.append(each if rest.all() else each.take(rest))
        self._kept, self._frontier = [], frontier
        late = expired = 0
        for register, found in zip(self._registers, matching, strict=True):
            step = register.step(found, frontier, backend)
            if step is None:
                continue
            plain += step.updates
            self._kept.append(step.kept)
            late, expired = late + step.late, expired + step.expired
        return Admitted(plain, late, expired)

    def next_deadline(self, backend: Backend) -> int | None:
        """The first time at which a register is due, in milliseconds since 1970; None for none."""
        if not self._restored:
            self._restore(backend)
        first = (each.deadlines.earliest() for each in self._registers)
        return min((time for time in first if time is not None), default=None)

    @property
    def pending(self) -> bool:
        """Whether there may be facts that expire."""
        return not self._restored or any(
            each.deadlines.first is not None for each in self._registers
        )

    def commit(self) -> None:
        """Make the last epoch final: remember when to look at its registers again."""
        for register in self._registers:
            register.deadlines.drop(self._frontier)
        for kept in self._kept:
            kept.register.deadlines.push(kept.args, kept.due)
        self._kept = []

    def _restore(self, backend: Backend) -> None:
        """Find the deadlines of the registers in a state."""
        for register in self._registers:
            register.restore(backend)
        self._restored = True


NO_REGISTERS = Registers((), len)
"""Those of a program in which nothing expires."""


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """What an epoch does to the registers of one `@expires`."""

    updates: list[Updates]
    kept: _Kept
    late: int
    expired: int


class _Register:
    """The facts of one `@expires`."""

    def __init__(self, expiry: Expiry, intern: Callable[[str], int]) -> None:
        self._expiry = expiry
        self._intern = intern
        self._constants: Bound = ()
        self.deadlines = Deadlines(len(expiry.pattern.arguments))

    def matches(self, updates: Updates) -> NDArray[np.bool_]:
        """The updates of its facts."""
        pattern = self._expiry.pattern
        if updates.predicate != pattern.predicate:
            return np.zeros(len(updates.args), np.bool_)
        return having(updates.args, self._constants)

    def restore(self, backend: Backend) -> None:
        """Find the deadlines of all of its facts; comes before all that matches updates."""
        # Not with each update: another thread may be adding terms then.
        self._constants = ids_of(self._expiry.pattern.constants, self._intern)
        last: list[tuple[NDArray[np.int32], NDArray[np.int64]]] = []
        for predicate in (self._expiry.asserted, self._expiry.retracted):
            trace = backend.trace(predicate)
            rows = having(trace.args, self._constants)
            last.append((trace.args[rows], trace.multiplicity[rows] - _ZERO))
        args, times = (np.concatenate(column) for column in zip(*last, strict=True))
        facts, places = distinct(args)
        latest = np.full(len(facts), NO_FRONTIER, np.int64)
        np.maximum.at(latest, places, times)
        self.deadlines.push(facts, self._over(latest))

    def step(self, updates: Sequence[Updates], frontier: int, backend: Backend) -> _Step | None:
        """What updates and a frontier do to the registers; None if nothing."""
        due = self.deadlines.due(frontier)
        if not updates and not len(due):
            return None
        expiry = self._expiry
        args, times, asserts = _joined(updates, due.shape[1])
        facts, places = distinct(np.concatenate([args, due]))
        places, places_of_due = np.split(places, [len(args)])
        before = [_times(backend, name, facts) for name in (expiry.asserted, expiry.retracted)]
        after = [each.copy() for each in before]
        np.maximum.at(after[0], places[asserts], times[asserts])
        np.maximum.at(after[1], places[~asserts], times[~asserts])
        last = np.maximum(*after)
        was = before[0] > before[1]
        is_over = self._over(after[0]) <= frontier
        now = (after[0] > after[1]) & ~is_over
        forgotten = self._over(last) <= frontier
        changes = [
            _changed(expiry.pattern.predicate, facts, now.astype(np.int64) - was),
            *(
                _changed(name, facts, _multiplicity(new, forgotten) - _multiplicity(old))
                for name, old, new in zip(
                    (expiry.asserted, expiry.retracted), before, after, strict=True
                )
            ),
        ]
        # Those that are due leave the queue; of the others, new ones enter it.
        is_new = np.maximum(*before) == NO_FRONTIER
        is_due = np.zeros(len(facts), np.bool_)
        is_due[places_of_due] = True
        kept = ~forgotten & (is_new | is_due)
        return _Step(
            [change for change in changes if len(change.args)],
            _Kept(self, facts[kept], self._over(last[kept])),
            int((self._over(times[asserts]) <= frontier).sum()),
            int((was & is_over & (after[0] > after[1])).sum()),
        )

    def _over(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """When updates at these times are over; `NO_FRONTIER` stays as it is."""
        every = self._expiry.every
        over = -(-(np.maximum(times, -_ZERO) + self._expiry.after) // every) * every
        return np.where(times == NO_FRONTIER, NO_FRONTIER, over)


def time_of(multiplicity: int) -> int:
    """The time that a multiplicity of a hidden predicate stands for, in milliseconds since 1970."""
    return multiplicity - _ZERO


def _joined(
    updates: Sequence[Updates], arity: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
    """Arguments, times, and which are assertions."""
    columns = []
    for each in updates:
        if each.times is None:
            raise EngineError(
                f"Facts of '{each.predicate}' that match an @expires need a time: set `ts`."
            )
        columns.append((each.args, each.times, each.multiplicity > 0))
    empty = (np.empty((0, arity), np.int32), np.empty(0, np.int64), np.empty(0, np.bool_))
    args, times, asserts = (np.concatenate(column) for column in zip(empty, *columns, strict=True))
    return args, times, asserts


def _times(backend: Backend, predicate: str, facts: NDArray[np.int32]) -> NDArray[np.int64]:
    """Times that a state has for facts, `NO_FRONTIER` where it has none."""
    multiplicity = backend.asserted(predicate, facts)
    return np.where(multiplicity == 0, NO_FRONTIER, multiplicity - _ZERO)


def _multiplicity(
    times: NDArray[np.int64], forgotten: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Inverse of `_times`; those that are forgotten have none."""
    none = times == NO_FRONTIER if forgotten is None else (times == NO_FRONTIER) | forgotten
    return np.where(none, 0, times + _ZERO)


def _changed(predicate: str, facts: NDArray[np.int32], by: NDArray[np.int64]) -> Updates:
    rows = np.flatnonzero(by)
    return Updates(predicate, facts[rows], by[rows])
