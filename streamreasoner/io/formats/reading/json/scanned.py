"""Messages in JSON through the compiled scanner. Invariant: refused messages have no rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.reading.format import MAX_DIFF, UpdateRows
from streamreasoner.io.formats.reading.json.kernels import messages as message_kernels
from streamreasoner.io.formats.reading.json.kernels import objects, strings
from streamreasoner.io.formats.reading.json.kernels.times import NO_TIME
from streamreasoner.io.formats.reading.timestamps import EventTimes
from streamreasoner.lang.ast import ARITIES, TRIPLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.messages import Messages

Shape: TypeAlias = "tuple[bool, str, int]"
"""Whether updates are facts, their predicate and their arity; triples come before facts."""

MOST_GROUPS = 256
"""Predicates with an arity that the scanner finds in a batch; it refuses the facts of others."""
# Bytes of messages for each byte of their escaped texts, and for each update: a first guess.
_OF_TEXT, _OF_UPDATE = 8, 128
_LEAST_TEXT = 4096
_ARGUMENTS = 3


def scanned(
    messages: Messages, syntax: int, part: str
) -> tuple[NDArray[np.bool_], dict[Shape, UpdateRows]]:
    """Read messages.

    Args:
        messages: At least one.
        syntax: What they are, of `kernels.messages`.
        part: What an update of a message is called in reasons.

    Returns:
        Which messages are read, bool of shape (n,), and their updates by shape, ascending.
    """
    data, starts, ends = messages.text()
    size = int((ends - starts).sum())
    count = len(ends) + size // _OF_UPDATE
    room = _Room(
        np.empty(_LEAST_TEXT + size // _OF_TEXT, dtype=np.uint8),
        np.empty((_ARGUMENTS * (count + 1), 2), dtype=np.int64),
        np.empty((count, objects.ROW_LENGTH), dtype=np.int64),
    )
    groups = np.zeros((MOST_GROUPS, objects.GROUP_LENGTH), dtype=np.int64)
    taken = np.zeros(len(ends), dtype=np.bool_)
    state = np.zeros(objects.STATE_LENGTH, dtype=np.int64)
    state[objects.GROUPS] = objects.TRIPLES + 1
    state[objects.MOST_DIFF] = MAX_DIFF
    state[objects.FIRST_TIME], state[objects.LAST_TIME] = timestamps.FIRST, timestamps.LAST
    while True:
        state[strings.ADDRESS], state[strings.LIMIT] = room.text.ctypes.data, len(room.text)
        status = message_kernels.scan(
            state,
            data.ctypes.data,
            starts,
            ends,
            syntax,
            room.spans,
            groups,
            room.rows,
            taken,
        )
        if status == message_kernels.DONE:
            break
        room = room.doubled()
    rows = room.rows[: state[objects.ROWS]]
    return taken, {
        shape: UpdateRows(
            shape[1],
            messages.rows[own[:, objects.MESSAGE_OF]],
            _texts(own, shape[2], room, data),
            own[:, objects.DIFF].copy(),
            EventTimes(
                np.where(own[:, objects.TIME] == NO_TIME, timestamps.NONE, own[:, objects.TIME]), {}
            ),
            part,
            own[:, objects.NUMBER].astype(np.int32),
        )
        for shape, own in _by_shape(rows, groups, data)
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Room:
    """What the scanner writes to; see `kernels.objects.read_object`."""

    text: NDArray[np.uint8]
    spans: NDArray[np.int64]
    rows: NDArray[np.int64]

    def doubled(self) -> _Room:
        """Twice the room, with what is written."""
        return _Room(
            *(
                np.concatenate([column, np.empty_like(column)])
                for column in (self.text, self.spans, self.rows)
            )
        )


def _by_shape(
    rows: NDArray[np.int64], groups: NDArray[np.int64], data: NDArray[np.uint8]
) -> Iterator[tuple[Shape, NDArray[np.int64]]]:
    """The rows of each shape, in their order."""
    of_rows = rows[:, objects.GROUP]
    counts = np.bincount(of_rows)
    numbers = np.flatnonzero(counts)
    # Nearly always there is one shape.
    ordered = rows if len(numbers) == 1 else rows[np.argsort(of_rows, kind="stable")]
    ends = np.cumsum(counts[numbers]).tolist()
    for number, first, end in zip(numbers.tolist(), [0, *ends], ends, strict=False):
        if number == objects.TRIPLES:
            shape = False, TRIPLE, ARITIES[TRIPLE]
        else:
            start, length, arity = groups[number].tolist()
            shape = True, data[start : start + length].tobytes().decode(), arity
        yield shape, ordered[first:end]


def _texts(
    rows: NDArray[np.int64], arity: int, room: _Room, data: NDArray[np.uint8]
) -> list[pa.LargeStringArray]:
    """The texts of each argument."""
    offsets = np.empty((arity, len(rows) + 1), dtype=np.int64)
    message_kernels.measure(rows, room.spans, offsets)
    texts = [np.empty(end, dtype=np.uint8) for end in offsets[:, -1].tolist()]
    targets = np.array([text.ctypes.data for text in texts], dtype=np.int64)
    addresses = data.ctypes.data, room.text.ctypes.data
    message_kernels.gather(rows, room.spans, *addresses, offsets, targets)
    return [
        pa.LargeStringArray.from_buffers(len(rows), *map(pa.py_buffer, columns))
        for columns in zip(offsets, texts, strict=True)
    ]
