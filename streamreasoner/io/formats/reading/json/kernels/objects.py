"""One update in JSON as a row.

Invariant: an object is read as `updates.read_any` reads it, or refused: with fields that are
unknown or given twice, and with anything but a valid update.
"""

# ruff: noqa: C901, PLR0911, PLR0912, PLR0917  (branches are those of the format)

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.formats.reading.json.kernels import fields
from streamreasoner.io.formats.reading.json.kernels.fields import (
    boolean_length,
    null_length,
    read_field,
    skip_space,
)
from streamreasoner.io.formats.reading.json.kernels.numbers import (
    read_boolean,
    read_integer,
    read_number,
)
from streamreasoner.io.formats.reading.json.kernels.strings import (
    BUFFER_LENGTH,
    FULL,
    REFUSED,
    read_string,
)
from streamreasoner.io.formats.reading.json.kernels.times import NO_TIME, read_time
from streamreasoner.native.addresses import load_byte
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.native.search import equal_bytes
from streamreasoner.rdf.kernels.grammar import QUOTE

if TYPE_CHECKING:
    import numpy as np

OPEN, CLOSE = ord("{"), ord("}")
OPEN_ARRAY, CLOSE_ARRAY = ord("["), ord("]")
COMMA, COLON = ord(","), ord(":")

# Positions in the state of a scan, behind those of its buffer: what is written so far, the message
# that is next, the group of the last fact; and the limits of an update.
ROWS = BUFFER_LENGTH
SPANS = BUFFER_LENGTH + 1
GROUPS = BUFFER_LENGTH + 2
MESSAGE = BUFFER_LENGTH + 3
LAST = BUFFER_LENGTH + 4
MOST_DIFF = BUFFER_LENGTH + 5
FIRST_TIME = BUFFER_LENGTH + 6
LAST_TIME = BUFFER_LENGTH + 7
STATE_LENGTH = BUFFER_LENGTH + 8

# Columns of a row: the number of the message, that of the update in it, its group, its first span,
# its multiplicity, and its time or NO_TIME.
MESSAGE_OF = 0
NUMBER = 1
GROUP = 2
FIRST = 3
DIFF = 4
TIME = 5
ROW_LENGTH = 6

# Columns of a group: where its name starts in the data, the bytes of the name, and its arity.
START = 0
LENGTH = 1
ARITY = 2
GROUP_LENGTH = 3
TRIPLES = 0
"""The group of updates with the fields `s`, `p` and `o`, which have no name."""
_TRIPLE_ARITY = 3


@kernel
def read_object(
    state: np.ndarray,
    data: int,
    position: int,
    end: int,
    spans: np.ndarray,
    groups: np.ndarray,
    rows: np.ndarray,
) -> int:
    """Read the object that begins at an address, and write its row.

    Args:
        state: State of the scan.
        data: Address of all messages.
        position: Where the object begins.
        end: Address behind the message.
        spans: Where each argument starts, as `read_string` returns it, and its bytes; int64 of
            shape (m, 2).
        groups: Predicates with their arities, int64 of shape (k, GROUP_LENGTH).
        rows: int64 of shape (n, ROW_LENGTH); the number of the update is written by the caller.

    Returns:
        The address behind it; REFUSED; or FULL if the buffer, the spans or the rows are.
    """
    first, row = state[SPANS], state[ROWS]
    if first + _TRIPLE_ARITY > len(spans) or row == len(rows):
        return FULL
    if position >= end or load_byte(position) != OPEN:
        return REFUSED
    seen = diff = name = name_length = 0
    time, arity = NO_TIME, _TRIPLE_ARITY
    while True:
        field, position = next_field(position + 1, end, seen)
        if field == 0:
            return REFUSED
        seen |= field
        byte = load_byte(position)
        if field & (fields.OF_TRIPLE | fields.NAME):
            if byte != QUOTE:
                return REFUSED
            position, start, length = read_string(state, data, position + 1, end)
            if position < 0:
                return position
            if field == fields.NAME:
                # The text of a name outlives its message: it must be in the data.
                if start < 0:
                    return REFUSED
                name, name_length = start, length
            else:
                spans[first + (field >> 1), 0] = start
                spans[first + (field >> 1), 1] = length
        elif field == fields.DIFF:
            position, diff = read_integer(position, end)
            if not -state[MOST_DIFF] <= diff <= state[MOST_DIFF]:
                return REFUSED
        elif field == fields.ARGUMENTS:
            if byte != OPEN_ARRAY:
                return REFUSED
            position, arity = read_arguments(state, data, position + 1, end, spans)
            if position < 0:
                return position
        elif null_length(position, end):
            position += null_length(position, end)
        elif field == fields.EPOCH:
            position, _ = read_integer(position, end)
        else:
            position, time = read_instant(state, data, position, end)
        position = skip_space(position, end) if position >= 0 else end
        byte = load_byte(position) if position < end else 0
        if byte == CLOSE:
            break
        if byte != COMMA:
            return REFUSED
    group = group_of(state, data, seen, name, name_length, arity, groups)
    if group == REFUSED:
        return REFUSED
    write_row(state, rows, group, diff, time)
    state[SPANS] = first + arity
    return position + 1


@inlined
def write_row(state: np.ndarray, rows: np.ndarray, group: int, diff: int, time: int) -> None:
    """Write the next row, whose spans are the next ones."""
    row = state[ROWS]
    rows[row, MESSAGE_OF] = state[MESSAGE]
    rows[row, GROUP] = group
    rows[row, FIRST] = state[SPANS]
    rows[row, DIFF] = diff
    rows[row, TIME] = time
    state[ROWS] = row + 1


@inlined
def next_field(position: int, end: int, seen: int) -> tuple[int, int]:
    """The field at an address, 0 if none or one that was seen; and where its value begins."""
    position = skip_space(position, end)
    if position >= end or load_byte(position) != QUOTE:
        return 0, position
    field, position = read_field(position + 1, end)
    position = skip_space(position, end)
    if seen & field or position >= end or load_byte(position) != COLON:
        return 0, position
    position = skip_space(position + 1, end)
    return field if position < end else 0, position


@inlined
def read_instant(state: np.ndarray, data: int, position: int, end: int) -> tuple[int, int]:
    """The address behind a time within the limits, or REFUSED; and the time."""
    if load_byte(position) == QUOTE:
        position, start, length = read_string(state, data, position + 1, end)
        if position < 0 or start < 0:
            return REFUSED, NO_TIME
        time = read_time(data + start, length)
    else:
        position, time = read_integer(position, end)
    if position < 0 or not state[FIRST_TIME] <= time <= state[LAST_TIME]:
        return REFUSED, NO_TIME
    return position, time


@kernel
def read_arguments(
    state: np.ndarray, data: int, position: int, end: int, spans: np.ndarray
) -> tuple[int, int]:
    """Write the spans of an array of terms, numbers and booleans; see `read_object`.

    Returns:
        The address behind it, REFUSED or FULL; and how many there are.
    """
    count = 0
    position = skip_space(position, end)
    if position < end and load_byte(position) == CLOSE_ARRAY:
        return position + 1, count
    while position < end:
        at = state[SPANS] + count
        if at >= len(spans):
            return FULL, 0
        byte = load_byte(position)
        if byte == QUOTE:
            position, start, length = read_string(state, data, position + 1, end)
        elif boolean_length(position, end):
            position, start, length = read_boolean(state, position, boolean_length(position, end))
        else:
            position, start, length = read_number(state, position, end)
        if position < 0:
            return position, 0
        spans[at, 0] = start
        spans[at, 1] = length
        count += 1
        position = skip_space(position, end)
        if position >= end:
            break
        byte = load_byte(position)
        if byte == CLOSE_ARRAY:
            return position + 1, count
        if byte != COMMA:
            break
        position = skip_space(position + 1, end)
    return REFUSED, 0


@kernel
def group_of(
    state: np.ndarray,
    data: int,
    seen: int,
    name: int,
    length: int,
    arity: int,
    groups: np.ndarray,
) -> int:
    """The group of an update with these fields, maybe a new one.

    REFUSED if it is neither a triple nor a fact, and if there is no room.
    """
    if seen & fields.SHAPE == fields.TRIPLE:
        return TRIPLES
    if seen & fields.SHAPE != fields.FACT:
        return REFUSED
    last = state[LAST]
    # Most facts have the predicate of the one before.
    if is_group(data, name, length, arity, groups, last):
        return last
    for group in range(TRIPLES + 1, state[GROUPS]):
        if is_group(data, name, length, arity, groups, group):
            state[LAST] = group
            return group
    group = state[GROUPS]
    if group == len(groups):
        return REFUSED
    groups[group, START] = name
    groups[group, LENGTH] = length
    groups[group, ARITY] = arity
    state[GROUPS] = group + 1
    state[LAST] = group
    return group


@kernel
def is_group(data: int, name: int, length: int, arity: int, groups: np.ndarray, group: int) -> bool:
    """Whether a group has this name and arity."""
    return (
        group != TRIPLES
        and groups[group, LENGTH] == length
        and groups[group, ARITY] == arity
        and equal_bytes(data + groups[group, START], data + name, length)
    )
