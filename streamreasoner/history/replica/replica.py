"""Follows a state into memory. Invariant: readers see one whole epoch after another.

The state is followed by one thread. What it cannot follow step by step, because tables were summed,
erased or replaced, it loads anew, alongside what readers still read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.history.epochs import Past
from streamreasoner.history.programs import in_effect
from streamreasoner.history.replica.replica_terms import ReplicaTerms
from streamreasoner.history.replica.snapshot import Snapshot
from streamreasoner.history.replica.store import FactStore, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from streamreasoner.engine.updates import TraceRows


class Replica:
    """The facts of one epoch in memory, in step with a state. Open with `Replica.open`.

    Attributes:
        past: The version of the tables that it was read from.
        lost: Whether tables were replaced or erased, and cannot be loaded anew: open another one.
    """

    def __init__(self, past: Past, store: FactStore, at: int | None, memory: int | None) -> None:
        self._memory = memory
        self.past = past
        self._store = store
        self._at = at
        self._broken = False
        self.lost = False

    @classmethod
    def open(cls, tables: Path, at: int | None = None, memory: int | None = None) -> Self:
        """Load the facts of an epoch.

        Args:
            tables: Directory of the tables; a pipeline may be writing to them.
            at: The epoch to stay at; None for the last complete one, to follow the state from.
            memory: Bytes that facts and answers may take; None for DuckDB's limit.

        Raises:
            StateError: There is no state, it is damaged, or the epoch cannot be asked for.
            StateFullError: The facts do not fit.
        """
        past = Past(tables)
        epoch = past.last if at is None else at
        past.check(epoch)
        return cls(past, _loaded(past, epoch, memory), at, memory)

    def follow(self) -> bool:
        """Take the epochs that are complete by now; whether there were any.

        Raises:
            StateError: The state is damaged, or another version has written it; or the epoch to
                stay at is not retained any more. What was read before can be asked still, unless
                it is `lost`.
            StateFullError: The facts do not fit.
        """
        past = self.past.newer()
        if past is None:
            return False
        if not past.follows or self._broken:
            # What was erased must not be answered any more, whatever comes of the loading.
            self.lost = True
            epoch = past.last if self._at is None else self._at
            past.check(epoch)
            # Snapshots keep the store that they read; its memory goes with the last one.
            self._store = _loaded(past, epoch, self._memory)
            self.lost = self._broken = False
        elif self._at is None and past.last > self.past.last:
            self._broken = True
            self._advance(past)
            self._broken = False
        else:
            self.past = past  # files were merged, or the epochs are later ones
            return False
        self.past = past
        return True

    @property
    def epoch(self) -> int:
        """The epoch that snapshots have from now on."""
        return self.past.last if self._at is None else self._at

    def snapshot(self) -> Snapshot:
        """What holds at the end of the last epoch that was taken; close it."""
        return Snapshot(self._store)

    def close(self) -> None:
        """Release the memory when the last snapshot is closed."""
        self._store.close()

    def _advance(self, past: Past) -> None:
        store, first = self._store, self.past.last
        store.terms.append(past.new_terms(len(store.terms)))
        _take(store, past, past.last, past.trace_after(first, _predicates(past, past.last)))


def _loaded(past: Past, epoch: int, memory: int | None) -> FactStore:
    store = FactStore(ReplicaTerms(), memory)
    store.terms.append(past.new_terms(0))
    _take(store, past, epoch, past.trace(epoch, _predicates(past, epoch)))
    return store


def _take(store: FactStore, past: Past, epoch: int, trace: Iterable[TraceRows]) -> None:
    """Bring a store to the end of an epoch."""
    store.programs = past.programs_until(epoch)
    program = in_effect(store.programs, epoch)
    shapes = {
        predicate: Shape(arity, program.lattices(predicate))
        for predicate, arity in program.checked.arities.items()
    }
    store.apply(epoch, _time(past, epoch), trace, shapes)


def _time(past: Past, epoch: int) -> int | None:
    """The time of an epoch, the last one if it closed several slots; None without changes."""
    times = past.changes_between(epoch, epoch).column("ts")
    last = pc.max(times.cast(pa.int64())).as_py()  # microseconds
    return None if last is None else int(last) // 1000


def _predicates(past: Past, epoch: int) -> frozenset[str]:
    """Every predicate that a program has had, without the hidden ones that lowering adds."""
    programs = past.programs_until(epoch)
    return frozenset(name for _, program in programs for name in program.arities)
