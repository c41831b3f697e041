"""How far event time has come. Invariant: an update's slot depends on its partition's log alone.

Each partition of the input has a watermark. Before the message at an offset it is

    max over the messages at lower offsets of min(ts, append time + max_ahead)  -  allowed_lateness

as in Flink (Akidau et al. 2015, section 2.3: a watermark is a bound on the event times to come). An
update belongs to the slot of its event time, or to that of the watermark before its message if the
former is over there. The frontier is the least watermark of all partitions. So a slot that the
frontier has closed is over in every partition, whatever has been read of the others.

A partition that is added later has no watermark, and joins at the frontier: only then does a slot
depend on when a message was read.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.io.codec.decode import message_of
from streamreasoner.io.codec.envelope import TIME_HEADER, append_milliseconds, message_times
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.reading.messages import header_values
from streamreasoner.plan.program_plan import has_key
from streamreasoner.state.record import SlotRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.io.codec.decode import Decoded
    from streamreasoner.state.record import Offsets


class Watermarks:
    """The watermarks of an input.

    Args:
        granularity: Length of a slot, in milliseconds.
        lateness: How far a watermark stays behind the greatest event time.
        max_ahead: How far an event time may be beyond that of its message; a later one counts as
            that time.
        recorded: Where an earlier process stopped.
        frontier: The frontier there; `NO_FRONTIER` before the first.

    Attributes:
        granularity: Length of a slot.
        frontier: The least watermark, in milliseconds since 1970. It never falls.
        late: Number of updates so far whose slots were over in their partitions.
    """

    def __init__(
        self,
        granularity: int,
        lateness: int,
        max_ahead: int,
        recorded: SlotRecord | None = None,
        frontier: int = NO_FRONTIER,
    ) -> None:
        self.granularity = granularity
        self._lateness = lateness
        self._max_ahead = max_ahead
        self._marks = {
            (topic, int(partition)): mark
            for topic, partitions in (recorded.watermarks if recorded else {}).items()
            for partition, mark in partitions.items()
        }
        self.frontier = frontier
        self.late = 0

    @property
    def closed(self) -> int:
        """The end of the last slot that is closed; `NO_FRONTIER` before the first."""
        if self.frontier == NO_FRONTIER:
            return NO_FRONTIER
        return self.frontier // self.granularity * self.granularity

    def end_for(self, time: int) -> int:
        """The end of the slot that lets a deadline pass."""
        return -(-time // self.granularity) * self.granularity

    @property
    def record(self) -> SlotRecord:
        """What a later process needs."""
        marks: dict[str, dict[str, int]] = {}
        for (topic, partition), mark in sorted(self._marks.items()):
            if mark != NO_FRONTIER:
                marks.setdefault(topic, {})[str(partition)] = mark
        return SlotRecord(self.granularity, marks)

    def advance(
        self, batch: pa.Table, decoded: Decoded, offsets: Offsets
    ) -> list[NDArray[np.int64]]:
        """Read a batch: raise the watermarks and the frontier.

        Args:
            batch: Messages with the columns of `source.COLUMNS`, in the order of a replay.
            decoded: What they are.
            offsets: The range of the batch, with every partition of the input.

        Returns:
            The ends of the slots of each of `decoded.updates`, int64 of shape (n,).
        """
        places = [(topic, int(each)) for topic in offsets for each in offsets[topic]]
        for place in places:
            self._marks.setdefault(place, self.frontier)
        times, clocks = self._times(batch, decoded)
        marks = np.where(clocks == NO_FRONTIER, NO_FRONTIER, clocks - self._lateness)
        before = np.empty(len(batch), np.int64)
        for place, rows in _partitions(batch):
            reached = np.maximum.accumulate([self._marks[place], *marks[rows]])
            before[rows], self._marks[place] = reached[:-1], int(reached[-1])
        least = min((self._marks[place] for place in places), default=NO_FRONTIER)
        self.frontier = max(self.frontier, least)
        return [
            self._slots(time, before[message_of(each)])
            for each, time in zip(decoded.updates, times, strict=True)
        ]

    def _slots(self, times: NDArray[np.int64], marks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ends of the slots of updates, given the watermarks before their messages."""
        # No time is earlier, and the least int64 has no slot.
        slots, first_open = (
            np.maximum(each, timestamps.FIRST) // self.granularity for each in (times, marks)
        )
        self.late += int((slots < first_open).sum())
        ends: NDArray[np.int64] = (np.maximum(slots, first_open) + 1) * self.granularity
        return ends

    def _times(
        self, batch: pa.Table, decoded: Decoded
    ) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """The time of each update by which it has a slot, and of each message.

        A message has the time of its last update, or else that of its header.
        """
        appended = append_milliseconds(batch)
        latest = np.clip(appended, timestamps.FIRST, timestamps.LAST)
        latest += self._max_ahead
        clocks = np.full(len(batch), NO_FRONTIER)
        times: list[NDArray[np.int64]] = []
        for each in decoded.updates:
            rows = message_of(each)
            found = np.full(len(rows), NO_FRONTIER) if each.times is None else each.times
            times.append(np.minimum(found, latest[rows]))
            np.maximum.at(clocks, rows, times[-1])
        with_header, *_ = header_values(batch, TIME_HEADER)
        rejected = [each.row for each in decoded.rejected]
        ticks = with_header[(clocks[with_header] == NO_FRONTIER) & ~np.isin(with_header, rejected)]
        clocks[ticks] = np.minimum(message_times(batch, appended, {}), latest)[ticks]
        for number, each in enumerate(decoded.updates):
            # What replaces the facts of a key does so in one slot.
            if has_key(each.predicate):
                times[number] = clocks[message_of(each)]
        return times, clocks


def _partitions(batch: pa.Table) -> Iterator[tuple[tuple[str, int], slice]]:
    """Each partition with its rows, of a batch in the order of a replay."""
    if not len(batch):
        return
    topics = batch.column("topic").combine_chunks().dictionary_encode()
    partitions = batch.column("partition").to_numpy()
    codes = topics.indices.to_numpy()
    starts = np.flatnonzero((np.diff(codes) != 0) | (np.diff(partitions) != 0)) + 1
    bounds = [0, *starts.tolist(), len(batch)]
    for start, end in pairwise(bounds):
        topic = topics.dictionary[int(codes[start])].as_py()
        yield (topic, int(partitions[start])), slice(start, end)
