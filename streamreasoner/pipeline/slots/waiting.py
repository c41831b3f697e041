"""Updates that wait for their slots. Invariant: each leaves with its slot, in an order of its own.

The order of a slot is that of the log: topic, partition, offset and part of the message. It does
not depend on the batches in which updates came.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.engine.updates import Updates
from streamreasoner.io.codec.decode import in_place, message_of, part_of
from streamreasoner.state.schemas import arg_columns, argument_count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from streamreasoner.io.codec.decode import Decoded

Place = tuple[str, int, int]
"""Topic, partition and offset of a message."""


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """Updates of one predicate and source.

    Attributes:
        updates: The updates.
        places: Number of the topic, partition, offset and part, int64 of shape (n, 4).
    """

    updates: Updates
    places: NDArray[np.int64]

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> _Placed:
        """Some of them."""
        return _Placed(self.updates.take(rows), self.places[rows])


class Slot:
    """The updates of one slot.

    Args:
        parts: The updates.
        topics: Names of topics, ascending.
    """

    def __init__(self, parts: list[_Placed], topics: tuple[str, ...]) -> None:
        self._parts = parts
        self._topics = topics
        places = [part.places[:, :3] for part in parts] or [np.empty((0, 3), np.int64)]
        self._messages, ranks = np.unique(np.concatenate(places), axis=0, return_inverse=True)
        ends = np.cumsum([len(part.places) for part in parts], dtype=np.int64)
        self._ranks = np.split(ranks.ravel(), ends[:-1]) if parts else []

    @property
    def messages(self) -> list[Place]:
        """The messages that the updates come from, in the order of the log."""
        return [(self._topics[topic], *place) for topic, *place in self._messages.tolist()]

    def updates(self, chosen: NDArray[np.bool_] | None = None) -> list[Updates]:
        """The updates for the engine.

        Args:
            chosen: Which messages count, bool of shape (messages,); all by default.
        """
        found = []
        for part, ranks in zip(self._parts, self._ranks, strict=True):
            each = replace(part.updates, order=in_place(ranks, part.places[:, 3]))
            rows = np.ones(len(ranks), np.bool_) if chosen is None else chosen[ranks]
            if rows.any():
                found.append(each.take(rows))
        return found


class Waiting:
    """Updates by slot.

    Args:
        topics: The input topics.
        sources: Those of them that the state keeps apart.
        stored: Rows of the table `waiting` to begin with.
    """

    def __init__(
        self, topics: Iterable[str], sources: Collection[str], stored: pa.Table | None = None
    ) -> None:
        self._sources = frozenset(sources)
        known = [] if stored is None else pc.unique(stored["topic"]).to_pylist()
        self._topics = tuple(sorted({*topics, *known}))
        self._slots: dict[int, list[_Placed]] = {}
        self._ends: list[int] = []
        self._added: list[tuple[_Placed, NDArray[np.int64]]] = []
        self._count = 0
        if stored is not None:
            for placed, ends in self._stored(stored):
                self._add(placed, ends)

    def __len__(self) -> int:
        """How many updates wait."""
        return self._count

    @property
    def first(self) -> int | None:
        """The end of the first slot, None if nothing waits."""
        return self._ends[0] if self._ends else None

    def add(self, batch: pa.Table, decoded: Decoded, slots: Iterable[NDArray[np.int64]]) -> None:
        """Take the updates of a batch.

        Args:
            batch: Its messages: columns topic, partition and offset.
            decoded: Its updates.
            slots: The end of the slot of each update.
        """
        numbers = pc.index_in(batch["topic"], pa.array(self._topics, pa.string())).to_numpy()
        columns = (numbers, batch["partition"].to_numpy(), batch["offset"].to_numpy())
        messages = np.stack(columns, axis=1).astype(np.int64)
        self._added = []
        for each, ends in zip(decoded.updates, slots, strict=True):
            places = np.column_stack([messages[message_of(each)], part_of(each)])
            self._added.append((_Placed(each, places), ends))
            self._add(*self._added[-1])

    def take(self) -> Slot:
        """The updates of the first slot, which wait no longer."""
        parts = self._slots.pop(heappop(self._ends))
        self._count -= sum(len(part.places) for part in parts)
        return Slot(parts, self._topics)

    def added(self, after: int) -> Iterator[pa.Table]:
        """What the last batch has added to slots that end after a time.

        Returns:
            Rows of the table `waiting`, see `rows.waiting_files`.
        """
        for placed, ends in self._added:
            rows = ends > after
            if rows.any():
                yield self._rows(placed.take(rows), ends[rows])

    def _add(self, placed: _Placed, ends: NDArray[np.int64]) -> None:
        order = np.argsort(ends, kind="stable")
        found, starts = np.unique(ends[order], return_index=True)
        for end, rows in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
            if end not in self._slots:
                self._slots[end] = []
                heappush(self._ends, end)
            self._slots[end].append(placed.take(rows))
        self._count += len(ends)

    def _rows(self, placed: _Placed, ends: NDArray[np.int64]) -> pa.Table:
        updates, places = placed.updates, placed.places
        topics = pa.array(self._topics, pa.string()).take(pa.array(places[:, 0]))
        names = arg_columns(updates.args.shape[1])
        return pa.table(
            {
                "predicate": pa.repeat(updates.predicate, len(ends)),
                **dict(zip(names, updates.args.T.astype(np.int64), strict=True)),
                "multiplicity": updates.multiplicity,
                "time": pa.nulls(len(ends), pa.int64()) if updates.times is None else updates.times,
                "slot": ends,
                "topic": topics,
                "partition": places[:, 1],
                "offset": places[:, 2],
                "part": places[:, 3],
            }
        )

    def _stored(self, rows: pa.Table) -> Iterator[tuple[_Placed, NDArray[np.int64]]]:
        """Inverse of `_rows`, by predicate and source."""
        numbers = pc.index_in(rows["topic"], pa.array(self._topics, pa.string()))
        rows = rows.append_column("number", numbers)
        columns = ("number", "partition", "offset", "part")
        for predicate in pc.unique(rows["predicate"]).to_pylist():
            of_predicate = rows.filter(pc.equal(rows["predicate"], predicate))
            for topic in pc.unique(of_predicate["topic"]).to_pylist():
                part = of_predicate.filter(pc.equal(of_predicate["topic"], topic))
                names = arg_columns(argument_count(part.column_names))
                used = [name for name in names if not part[name].null_count]
                args = np.empty((len(part), len(used)), np.int32)
                for position, name in enumerate(used):
                    args[:, position] = part[name].to_numpy()
                updates = Updates(
                    predicate,
                    args,
                    part["multiplicity"].to_numpy(),
                    # Keys of messages with facts have no times, and need none.
                    None if part["time"].null_count else part["time"].to_numpy(),
                    topic if topic in self._sources else "",
                )
                places = np.stack([part[name].to_numpy() for name in columns], axis=1)
                yield _Placed(updates, places.astype(np.int64)), part["slot"].to_numpy()
