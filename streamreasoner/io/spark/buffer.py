"""Messages that are read before their batch is planned.

Invariant: of each partition, a buffer has all messages from the first offset of its range on, so a
batch takes its messages from the front.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.io.spark import offsets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.state.record import Offsets

    Partition = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Buffer:
    """An immutable buffer.

    Attributes:
        range: topic -> partition -> [first, next].
        rows: (topic, partition) -> messages in order; a partition without messages may be absent.
        empty: A table of no messages.
    """

    range: Offsets
    rows: Mapping[Partition, pa.Table]
    empty: pa.Table

    @classmethod
    def of(cls, range_: Offsets, batch: pa.Table) -> Buffer:
        """The messages of a range, in any order, with columns topic, partition and offset."""
        return cls(range_, dict(_by_partition(offsets.in_order(batch))), batch.slice(0, 0))

    def lacks(self, wanted: Offsets) -> Offsets | None:
        """What must be read in addition to have a range; None if that begins elsewhere."""
        lacking: Offsets = {}
        for topic, partition, first, after in offsets.parts(wanted):
            start, end = self._bounds(topic, partition, first)
            if start != first:
                return None
            lacking.setdefault(topic, {})[partition] = [end, max(end, after)]
        return lacking

    def then(self, read: Buffer) -> Buffer:
        """This buffer with what it lacked."""
        joined: Offsets = {}
        for topic, partition, first, after in offsets.parts(read.range):
            start, _ = self._bounds(topic, partition, first)
            joined.setdefault(topic, {})[partition] = [start, after]
        rows = {**self.rows}
        for key, table in read.rows.items():
            rows[key] = pa.concat_tables([rows.get(key, self.empty), table])
        return Buffer(joined, rows, self.empty)

    def split(self, planned: Offsets) -> tuple[pa.Table, Buffer] | None:
        """The messages of a planned range, and those behind it; None if some are not there.

        Args:
            planned: The range.
        """
        taken, rest = [self.empty], {}
        behind: Offsets = {}
        for topic, partition, first, after in _in_order(planned):
            start, end = self._bounds(topic, partition, first)
            if start != first or end < after:
                return None
            behind.setdefault(topic, {})[partition] = [after, end]
            rows = self.rows.get((topic, partition), self.empty)
            count = int(np.searchsorted(rows.column("offset").to_numpy(), after))
            taken.append(rows.slice(0, count))
            # A copy: a slice would keep the whole table in memory.
            rest[topic, partition] = rows.take(np.arange(count, len(rows)))
        return pa.concat_tables(taken), Buffer(behind, rest, self.empty)

    def _bounds(self, topic: str, partition: str, first: int) -> list[int]:
        """The range of a partition; that of an unknown one is empty."""
        return self.range.get(topic, {}).get(partition, [first, first])


def _by_partition(batch: pa.Table) -> Iterator[tuple[Partition, pa.Table]]:
    """The rows of each partition of a batch that is in order, without copies."""
    topics = batch.column("topic").combine_chunks().dictionary_encode().indices.to_numpy()
    partitions = batch.column("partition").to_numpy()
    differs = (np.diff(topics) != 0) | (np.diff(partitions) != 0)
    bounds = [0, *(np.flatnonzero(differs) + 1).tolist(), len(batch)]
    for start, end in pairwise(bounds):
        if start < end:
            topic = batch.column("topic")[start].as_py()
            yield (topic, str(partitions[start])), batch.slice(start, end - start)


def _in_order(planned: Offsets) -> list[tuple[str, str, int, int]]:
    """The partitions of a range, as `in_order` sorts their messages."""
    return sorted(offsets.parts(planned), key=lambda part: (part[0], int(part[1])))
