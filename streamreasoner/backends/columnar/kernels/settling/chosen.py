"""The lowest or highest values of a group. Invariant: the list has the best values, best first.

A group lists more values than it shows, up to REDUCTION_MOST, and knows how many it has. A value
that comes is listed if it is better than the last one listed, or if all are; one that goes leaves
the list. So only when fewer are listed than the group should show are its matches walked again: as
many deletions of shown values later as the list has to spare. The list is in chunks, and each entry
says whether its value is *shown*, that is, a result.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import find_first
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    allocate,
    link_offset,
    release,
)
from streamreasoner.backends.columnar.kernels.settling.heads import emit
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.values.kernels.ordering import order

CHUNK = 16
"""Units of a chunk: the link and the number of its entries, then the entries."""

_ROOM = CHUNK - 1
_SHOWN = 1  # entries are ids shifted by one, and this bit


@kernel
def include(
    table: layout.Int64s, values: layout.Int64s, r: int, group: int, at: int, value: int
) -> int:
    """List a value that the group has now, if it is good enough; returns a status."""
    units = int64_column(table[layout.ARENA])
    status = layout.OK
    if units[at + layout.CHOSEN_SIZE] == units[at + layout.SUM_COUNT] or (
        units[at + layout.CHOSEN_SIZE] != 0 and _better(table, values, r, value, _last(table, at))
    ):
        status = _list(table, values, r, group, at, value)
    if status != layout.OK:
        forget(table, at)
    return status


@kernel
def exclude(
    table: layout.Int64s, values: layout.Int64s, r: int, group: int, at: int, value: int
) -> int:
    """Remove a value that the group has no more from its list; returns a status."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    previous = 0
    chunk = units[at + layout.CHOSEN_FIRST]
    while chunk != 0:
        count = words[2 * chunk + 1]
        if not _better(table, values, r, units[chunk + count] >> 1, value):
            break
        previous = chunk
        chunk = words[2 * chunk]
    if chunk == 0:
        return layout.OK
    place = 1
    while place <= count and units[chunk + place] >> 1 != value:
        place += 1
    if place > count:
        return layout.OK
    shown = units[chunk + place] & _SHOWN
    _remove(table, at, previous, chunk, place)
    if shown == 0:
        return layout.OK
    status = emit(table, r, group, value, -1)
    if status != layout.OK:
        forget(table, at)
    return status


@kernel
def show(
    table: layout.Int64s,
    values: layout.Int64s,
    r: int,
    group: int,
    at: int,
    emits: bool,  # noqa: FBT001
) -> int:
    """Show the best values, and no others; the differences may be emitted; returns a status."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    limit = int32_column(table[layout.REDUCTIONS])[r + layout.REDUCTION_LIMIT]
    listed = units[at + layout.CHOSEN_SIZE]
    if listed < limit and listed < units[at + layout.SUM_COUNT]:
        status = _list_members(table, values, r, group, at)
        if status != layout.OK:
            forget(table, at)
            return status
    chunk = units[at + layout.CHOSEN_FIRST]
    rank = 0
    while chunk != 0:
        for place in range(chunk + 1, chunk + 1 + words[2 * chunk + 1]):
            entry = units[place]
            shown = int(rank < limit)
            rank += 1
            if entry & _SHOWN != shown:
                units[place] = entry ^ _SHOWN
                if emits:
                    status = emit(table, r, group, entry >> 1, 1 if shown != 0 else -1)
                    if status != layout.OK:
                        return status
        chunk = words[2 * chunk]
    return layout.OK


@kernel
def hide(table: layout.Int64s, r: int, group: int, at: int) -> int:
    """Retract the values that are shown; returns a status."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    chunk = units[at + layout.CHOSEN_FIRST]
    while chunk != 0:
        for place in range(chunk + 1, chunk + 1 + words[2 * chunk + 1]):
            if units[place] & _SHOWN != 0:
                status = emit(table, r, group, units[place] >> 1, -1)
                if status != layout.OK:
                    return status
        chunk = words[2 * chunk]
    return layout.OK


@kernel
def forget(table: layout.Int64s, at: int) -> None:
    """Empty the list of a group: it is made again from the matches when it is shown."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    chunk = units[at + layout.CHOSEN_FIRST]
    while chunk != 0:
        following = words[2 * chunk]
        release(table, chunk, CHUNK)
        chunk = following
    units[at + layout.CHOSEN_FIRST] = units[at + layout.CHOSEN_LAST] = 0
    units[at + layout.CHOSEN_SIZE] = 0


@kernel
def _list_members(table: layout.Int64s, values: layout.Int64s, r: int, group: int, at: int) -> int:
    """List the best of the matches of a group that are not listed; returns a status."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    reductions = int32_column(table[layout.REDUCTIONS])
    keys = reductions[r + layout.REDUCTION_KEYS]
    members = reductions[r + layout.REDUCTION_MEMBERS]
    worst = -1
    if units[at + layout.CHOSEN_SIZE] != 0:
        worst = _last(table, at)
    fact = find_first(table, members, words, 2 * group + layout.GROUP_KEY, keys)
    while fact != 0:
        value = words[2 * fact + layout.CELLS + keys]
        if presence(table, fact) != 0 and (worst < 0 or _better(table, values, r, worst, value)):
            status = _list(table, values, r, group, at, value)
            if status != layout.OK:
                return status
        fact = words[2 * fact + link_offset(table, words[2 * fact], members)]
    return layout.OK


@kernel
def _list(
    table: layout.Int64s, values: layout.Int64s, r: int, group: int, at: int, value: int
) -> int:
    """List a value where it belongs, and drop the last one of too many; returns a status."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    most = int32_column(table[layout.REDUCTIONS])[r + layout.REDUCTION_MOST]
    size = units[at + layout.CHOSEN_SIZE]
    chunk = units[at + layout.CHOSEN_LAST]
    if size != 0 and _better(table, values, r, value, _last(table, at)):
        chunk = units[at + layout.CHOSEN_FIRST]
        while not _better(table, values, r, value, units[chunk + words[2 * chunk + 1]] >> 1):
            chunk = words[2 * chunk]
    elif size >= most:
        return layout.OK
    if chunk == 0 or words[2 * chunk + 1] == _ROOM:
        added = allocate(table, CHUNK)
        if added == 0:
            return layout.FULL
        if chunk == 0:
            units[at + layout.CHOSEN_FIRST] = units[at + layout.CHOSEN_LAST] = chunk = added
        else:
            chunk = _split(table, values, r, at, chunk, added, value)
    place = words[2 * chunk + 1]
    while place > 0 and _better(table, values, r, value, units[chunk + place] >> 1):
        units[chunk + place + 1] = units[chunk + place]
        place -= 1
    units[chunk + place + 1] = value << 1
    words[2 * chunk + 1] += 1
    units[at + layout.CHOSEN_SIZE] = size + 1
    return _drop_last(table, r, group, at) if size >= most else layout.OK


@kernel
def _split(
    table: layout.Int64s, values: layout.Int64s, r: int, at: int, chunk: int, added: int, value: int
) -> int:
    """Make room in a full chunk by another one behind it; returns the chunk for a value."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    words[2 * added] = words[2 * chunk]
    words[2 * chunk] = added
    if words[2 * added] == 0:
        units[at + layout.CHOSEN_LAST] = added
    if not _better(table, values, r, value, units[chunk + _ROOM] >> 1):
        return added
    kept = _ROOM // 2
    for place in range(kept + 1, _ROOM + 1):
        units[added + place - kept] = units[chunk + place]
    words[2 * added + 1] = _ROOM - kept
    words[2 * chunk + 1] = kept
    return chunk if _better(table, values, r, value, units[chunk + kept] >> 1) else added


@kernel
def _drop_last(table: layout.Int64s, r: int, group: int, at: int) -> int:
    """Drop the last value of the list, which was shown if many have come; returns a status."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    last = units[at + layout.CHOSEN_LAST]
    previous = 0
    if words[2 * last + 1] == 1:
        previous = units[at + layout.CHOSEN_FIRST]
        while words[2 * previous] != last:
            previous = words[2 * previous]
    entry = units[last + words[2 * last + 1]]
    _remove(table, at, previous, last, words[2 * last + 1])
    return emit(table, r, group, entry >> 1, -1) if entry & _SHOWN != 0 else layout.OK


@kernel
def _remove(table: layout.Int64s, at: int, previous: int, chunk: int, place: int) -> None:
    """Remove an entry of a chunk, and an empty chunk behind the previous one, 0 for none."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    count = words[2 * chunk + 1] - 1
    for i in range(place, count + 1):
        units[chunk + i] = units[chunk + i + 1]
    words[2 * chunk + 1] = count
    units[at + layout.CHOSEN_SIZE] -= 1
    if count != 0:
        return
    following = words[2 * chunk]
    if previous == 0:
        units[at + layout.CHOSEN_FIRST] = following
    else:
        words[2 * previous] = following
    if following == 0:
        units[at + layout.CHOSEN_LAST] = previous
    release(table, chunk, CHUNK)


@inlined
def _last(table: layout.Int64s, at: int) -> int:
    """The last value of a list that is not empty."""
    units = int64_column(table[layout.ARENA])
    last = units[at + layout.CHOSEN_LAST]
    return units[last + int32_column(table[layout.ARENA])[2 * last + 1]] >> 1


@inlined
def _better(table: layout.Int64s, values: layout.Int64s, r: int, value: int, other: int) -> bool:
    """Whether a value comes before another one in the order of a reduction."""
    function = int32_column(table[layout.REDUCTIONS])[r + layout.REDUCTION_FUNCTION]
    wanted = -1 if function == layout.FUNCTION_LOWEST else 1
    return bool(order(values, value, other) == wanted)
