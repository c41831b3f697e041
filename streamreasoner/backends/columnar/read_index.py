"""Facts by one of their arguments, for reads. Invariant: no fact of the state is missed.

Arrangements have the keys that rules join by; readers bind any argument. What a reader binds is
sorted from one pass over the table of facts, and kept. It may name records that have been dropped
since, so `select.matching` looks each one up; the records that are made later are listed from the
journal, when the epoch is read and before it is committed. What is listed is sorted too when it is
much, in blocks of which each is much larger than the next.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from streamreasoner.backends.columnar.kernels.records import layout, select
from streamreasoner.history.by_argument import ByArgument, Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from streamreasoner.engine.ports import Bound

LISTED_SHARE: Final = 8
"""The part of the facts that may be listed before they are all sorted again."""
LISTED_LEAST: Final = 1 << 12
ARRAYS: Final = 1 << 8
"""Arrays of listed records, one for each epoch, that are kept apart until someone reads."""
SCANNED: Final = 1 << 12
"""Listed records that are looked through one by one."""
GROWTH: Final = 4
"""How many times as large as the next a block is at least."""
SOUGHT_SHARE: Final = 16
"""The part of the facts of which, if as many ids are sought alone, all are looked through."""
SOUGHT_LEAST: Final = 1 << 9
_NONE = np.empty(0, np.int32)


class State(Protocol):
    """What a state is read by; see `arena.Arena`."""

    table: layout.Int64s
    scalars: layout.Int64s

    @property
    def units(self) -> layout.Int64s:
        """The arena, int64 by unit."""
        ...

    @property
    def journaled(self) -> layout.Int64s:
        """The facts in the journal, with their state before the epoch."""
        ...


class _Block(NamedTuple):
    """Listed records, and by relation their facts by the arguments that have been asked for."""

    records: NDArray[np.int32]
    relations: dict[int, ByArgument]


class ReadIndex:
    """The facts of one state, while its records stay where they are."""

    def __init__(self) -> None:
        self._relations: dict[int, ByArgument] = {}
        self._blocks: list[_Block] = []
        self._fresh: list[NDArray[np.int32]] = []
        self._count = 0
        self._epoch = self._noted = 0

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        indexes = [self._relations, *(block.relations for block in self._blocks)]
        return sum(each.nbytes for index in indexes for each in index.values()) + 4 * self._count

    def clear(self) -> None:
        """Forget everything: records move, or most of them are new."""
        self._relations.clear()
        self._blocks.clear()
        self._fresh.clear()
        self._count = 0

    def note(self, state: State) -> None:
        """List the records that the epoch has made since it was read, if any; before its commit."""
        epoch, count = int(state.scalars[layout.EPOCH]), int(state.scalars[layout.JOURNALED_FACTS])
        first = self._noted if self._epoch == epoch else 0
        self._epoch, self._noted = epoch, count
        if not self._relations or first >= count:
            return
        journaled = state.journaled[first:]
        most = int(state.scalars[layout.FACT_COUNT]) // LISTED_SHARE + LISTED_LEAST
        if self._count + len(journaled) > most:
            self.clear()
            return
        records = (journaled & layout.LOW).astype(np.int32)
        at = layout.WORDS * records.astype(np.int64) + layout.HEADER
        headers = state.units.view(np.int32)[at]
        self._fresh.append(records[headers & layout.FRESH != 0])
        self._count += len(self._fresh[-1])
        if len(self._fresh) > ARRAYS:
            self._gather()

    def select(self, state: State, relation: int, bound: Bound) -> NDArray[np.int32]:
        """The records of a relation with these ids at some positions, present or not."""
        self.note(state)
        facts = self._relations.setdefault(relation, ByArgument())
        one = {at: each for at, each in bound.items() if not isinstance(each, np.ndarray)}
        several = {at: each for at, each in bound.items() if isinstance(each, np.ndarray)}
        wanted: Bound = {**several, **one}
        count = int(state.scalars[layout.FACT_COUNT])
        most = count // SOUGHT_SHARE + SOUGHT_LEAST
        is_scanned = not one and any(len(each) > most for each in several.values())
        if not is_scanned:
            group = facts.group(wanted, partial(_column, state, relation, None))
            is_scanned = 2 * len(group) > count
        if is_scanned:
            return _among(state, scanned(state, relation, one), several)
        found = _among(state, _matching(state, relation, one, group), several)
        if not self._count:
            return found
        listed = self._listed(state, relation, wanted)
        fresh = _among(state, _matching(state, relation, one, listed), several)
        # A record that was dropped and made anew is in both.
        return np.union1d(found, fresh) if len(fresh) else found

    def _listed(self, state: State, relation: int, bound: Bound) -> NDArray[np.int32]:
        """Listed records, among them all facts of a relation with these ids at some positions."""
        self._gather()
        groups = (
            relations.setdefault(relation, ByArgument()).group(
                bound, partial(_column, state, relation, records)
            )
            for records, relations in self._blocks
        )
        return np.concatenate([*self._fresh, *groups])

    def _gather(self) -> None:
        """Make what has been listed one array, or a block if it is much."""
        fresh = np.concatenate([_NONE, *self._fresh])
        if len(fresh) > SCANNED:
            while self._blocks and len(self._blocks[-1].records) < GROWTH * len(fresh):
                fresh = np.concatenate([fresh, self._blocks.pop().records])
            self._blocks.append(_Block(np.unique(fresh), {}))
            fresh = _NONE
        self._fresh = [fresh]


def scanned(state: State, relation: int, bound: Mapping[int, int]) -> NDArray[np.int32]:
    """What `ReadIndex.select` finds for one id each, from a pass over the table of facts."""
    positions = np.array([*bound], np.int32)
    ids = np.array([*bound.values()], np.int32)
    records = np.empty(select.select(state.table, relation, positions, ids, _NONE), np.int32)
    select.select(state.table, relation, positions, ids, records)
    return records


def _column(state: State, relation: int, listed: NDArray[np.int32] | None, position: int) -> Column:
    """An argument of all facts of a relation, or of those among listed records."""
    if listed is None:
        records = scanned(state, relation, {})
        records.sort()  # in this order, their memory is read from one end to the other
    else:
        records = _matching(state, relation, {}, listed)
    ids = np.empty(len(records), np.int32)
    select.read_argument(state.table, records, position, ids)
    return Column(ids, records)


def _matching(
    state: State, relation: int, bound: Mapping[int, int], records: NDArray[np.int32]
) -> NDArray[np.int32]:
    positions = np.array([*bound], np.int32)
    ids = np.array([*bound.values()], np.int32)
    found = np.empty(len(records), np.int32)
    return found[: select.matching(state.table, relation, positions, ids, records, found)]


def _among(
    state: State, records: NDArray[np.int32], several: Mapping[int, NDArray[np.int32]]
) -> NDArray[np.int32]:
    """The records that have one of several ids at each of some positions."""
    for position, ids in several.items():
        first, last = (int(ids.min()), int(ids.max())) if len(ids) else (0, -1)
        wanted = np.zeros(last - first + 1, bool)
        wanted[ids - first] = True
        found = np.empty(len(records), np.int32)
        records = found[: select.among(state.table, records, position, first, wanted, found)]
    return records
