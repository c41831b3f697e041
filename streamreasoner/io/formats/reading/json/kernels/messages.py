"""Messages in JSON as rows. Invariant: all updates of a message have rows, or none has."""

# ruff: noqa: PLR0911, PLR0917  (kernels take columns one by one; branches are those of the format)

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.formats.reading.json.kernels.fields import skip_space
from streamreasoner.io.formats.reading.json.kernels.objects import (
    CLOSE_ARRAY,
    COMMA,
    FIRST,
    MESSAGE,
    NUMBER,
    OPEN_ARRAY,
    ROWS,
    SPANS,
    read_object,
)
from streamreasoner.io.formats.reading.json.kernels.strings import FULL, REFUSED, USED
from streamreasoner.native.addresses import copy_bytes, load_byte
from streamreasoner.native.compile import kernel
from streamreasoner.native.search import find_byte

if TYPE_CHECKING:
    import numpy as np

DONE = 0

# What a message is.
VALUE = 0
"""An object, or an array of objects, which are numbered from 1."""
LINES = 1
"""Lines of an object each, numbered from 1; blank ones are counted."""

_NEWLINE = ord("\n")


@kernel
def scan(
    state: np.ndarray,
    data: int,
    starts: np.ndarray,
    ends: np.ndarray,
    syntax: int,
    spans: np.ndarray,
    groups: np.ndarray,
    rows: np.ndarray,
    taken: np.ndarray,
) -> int:
    """Read messages until the end, or until there is no room.

    Args:
        state: State of the scan, int64 of shape (STATE_LENGTH,); goes on with its MESSAGE.
        data: Address from which messages are counted.
        starts: Where each message starts, int64 of shape (n,).
        ends: Where each message ends, int64 of shape (n,).
        syntax: VALUE or LINES.
        spans: See `read_object`.
        groups: See `read_object`.
        rows: See `read_object`.
        taken: Set to whether a message has been read, bool of shape (n,).

    Returns:
        DONE; FULL if the buffer, the spans or the rows have no room for the message.
    """
    for message in range(state[MESSAGE], len(ends)):
        state[MESSAGE] = message
        row, span, used = state[ROWS], state[SPANS], state[USED]
        start, end = data + starts[message], data + ends[message]
        if syntax == LINES:
            status = read_lines(state, data, start, end, spans, groups, rows)
        else:
            status = read_value(state, data, start, end, spans, groups, rows)
        if status != DONE:
            state[ROWS], state[SPANS], state[USED] = row, span, used
        if status == FULL:
            return FULL
        taken[message] = status == DONE
    return DONE


@kernel
def read_value(
    state: np.ndarray,
    data: int,
    position: int,
    end: int,
    spans: np.ndarray,
    groups: np.ndarray,
    rows: np.ndarray,
) -> int:
    """Read an object or an array of objects; DONE, REFUSED or FULL."""
    position = skip_space(position, end)
    if position >= end:
        return REFUSED
    if load_byte(position) != OPEN_ARRAY:
        position = read_object(state, data, position, end, spans, groups, rows)
        if position < 0:
            return position
        rows[state[ROWS] - 1, NUMBER] = 0
        return DONE if skip_space(position, end) == end else REFUSED
    number = 0
    position = skip_space(position + 1, end)
    if position < end and load_byte(position) == CLOSE_ARRAY:
        return DONE if skip_space(position + 1, end) == end else REFUSED
    while True:
        position = read_object(state, data, position, end, spans, groups, rows)
        if position < 0:
            return position
        number += 1
        rows[state[ROWS] - 1, NUMBER] = number
        position = skip_space(position, end)
        if position >= end:
            return REFUSED
        byte = load_byte(position)
        position = skip_space(position + 1, end)
        if byte == CLOSE_ARRAY:
            return DONE if position == end else REFUSED
        if byte != COMMA:
            return REFUSED


@kernel
def read_lines(
    state: np.ndarray,
    data: int,
    position: int,
    end: int,
    spans: np.ndarray,
    groups: np.ndarray,
    rows: np.ndarray,
) -> int:
    """Read lines of an object each; DONE, REFUSED or FULL."""
    number = 0
    while position < end:
        line_end = find_byte(position, end, _NEWLINE)
        number += 1
        position = skip_space(position, line_end)
        if position < line_end:
            position = read_object(state, data, position, line_end, spans, groups, rows)
            if position < 0:
                return position
            rows[state[ROWS] - 1, NUMBER] = number
            if skip_space(position, line_end) != line_end:
                return REFUSED
        position = line_end + 1
    return DONE


@kernel
def measure(rows: np.ndarray, spans: np.ndarray, offsets: np.ndarray) -> None:
    """Where the texts of each argument are, one after the other.

    Args:
        rows: See `read_object`, of shape (n, ROW_LENGTH).
        spans: See `read_object`.
        offsets: Set to where each text begins and the last one ends, int64 of shape (arity, n + 1).
    """
    offsets[:, 0] = 0
    for row in range(len(rows)):
        for argument in range(len(offsets)):
            length = spans[rows[row, FIRST] + argument, 1]
            offsets[argument, row + 1] = offsets[argument, row] + length


@kernel
def gather(
    rows: np.ndarray,
    spans: np.ndarray,
    data: int,
    buffer: int,
    offsets: np.ndarray,
    targets: np.ndarray,
) -> None:
    """Copy the texts of all arguments.

    Args:
        rows: See `read_object`, of shape (n, ROW_LENGTH).
        spans: See `read_object`.
        data: Address of all messages.
        buffer: Address of the buffer of texts.
        offsets: As `measure` has set them.
        targets: Addresses from which those of each argument are counted, int64 of shape (arity,).
    """
    for row in range(len(rows)):
        for argument in range(len(targets)):
            span = rows[row, FIRST] + argument
            start = spans[span, 0]
            source = data + start if start >= 0 else buffer + ~start
            copy_bytes(targets[argument] + offsets[argument, row], source, spans[span, 1])
