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
from streamreasoner.backends.columnar.kernels.records.fact_record import allocate, release
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.settling.heads import emit
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.values.kernels.ordering import order

_ROOM = layout.CHUNK_UNITS - 1


@kernel
def include(
    table: layout.Int64s, values: layout.Int64s, r: int, group: int, at: int, value: int
) -> int:
    """List a value that the group has now, if it is good enough; returns a status."""
    units = views.units(table)
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
    """Remove a value that the group no longer has from its list; returns a status."""
    previous = 0
    chunk = views.units(table)[at + layout.CHOSEN_FIRST]
    while chunk != 0:
        count = facts.word(table, chunk, layout.CHUNK_SIZE)
        if not _better(table, values, r, lists.chosen_at(table, chunk, count), value):
            break
        previous = chunk
        chunk = facts.word(table, chunk, layout.CHUNK_NEXT)
    if chunk == 0:
        return layout.OK
    place = 1
    while place <= count and lists.chosen_at(table, chunk, place) != value:
        place += 1
    if place > count:
        return layout.OK
    shown = lists.is_shown(table, chunk, place)
    _remove(table, at, previous, chunk, place)
    if not shown:
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
    units = views.units(table)
    limit = views.reductions(table)[r + layout.REDUCTION_LIMIT]
    listed = units[at + layout.CHOSEN_SIZE]
    if listed < limit and listed < units[at + layout.SUM_COUNT]:
        status = _list_members(table, values, r, group, at)
        if status != layout.OK:
            forget(table, at)
            return status
    chunk = units[at + layout.CHOSEN_FIRST]
    rank = 0
    while chunk != 0:
        for place in range(1, 1 + facts.word(table, chunk, layout.CHUNK_SIZE)):
            shown = rank < limit
            rank += 1
            if lists.is_shown(table, chunk, place) != shown:
                units[chunk + place] ^= layout.CHOSEN_SHOWN
                if emits:
                    value = lists.chosen_at(table, chunk, place)
                    status = emit(table, r, group, value, 1 if shown else -1)
                    if status != layout.OK:
                        return status
        chunk = facts.word(table, chunk, layout.CHUNK_NEXT)
    return layout.OK


@kernel
def hide(table: layout.Int64s, r: int, group: int, at: int) -> int:
    """Retract the values that are shown; returns a status."""
    chunk = views.units(table)[at + layout.CHOSEN_FIRST]
    while chunk != 0:
        for place in range(1, 1 + facts.word(table, chunk, layout.CHUNK_SIZE)):
            if lists.is_shown(table, chunk, place):
                status = emit(table, r, group, lists.chosen_at(table, chunk, place), -1)
                if status != layout.OK:
                    return status
        chunk = facts.word(table, chunk, layout.CHUNK_NEXT)
    return layout.OK


@kernel
def forget(table: layout.Int64s, at: int) -> None:
    """Empty the list of a group: it is made again from the matches when it is shown."""
    units = views.units(table)
    chunk = units[at + layout.CHOSEN_FIRST]
    while chunk != 0:
        following = facts.word(table, chunk, layout.CHUNK_NEXT)
        release(table, chunk, layout.CHUNK_UNITS)
        chunk = following
    units[at + layout.CHOSEN_FIRST] = units[at + layout.CHOSEN_LAST] = 0
    units[at + layout.CHOSEN_SIZE] = 0


@kernel
def _list_members(table: layout.Int64s, values: layout.Int64s, r: int, group: int, at: int) -> int:
    """List the best of the matches of a group that are not listed; returns a status."""
    keys = views.reductions(table)[r + layout.REDUCTION_KEYS]
    members = views.reductions(table)[r + layout.REDUCTION_MEMBERS]
    worst = -1
    if views.units(table)[at + layout.CHOSEN_SIZE] != 0:
        worst = _last(table, at)
    fact = find_first(table, members, views.words(table), facts.key_at(group), keys)
    while fact != 0:
        value = facts.argument(table, fact, keys)
        if presence(table, fact) != 0 and (worst < 0 or _better(table, values, r, worst, value)):
            status = _list(table, values, r, group, at, value)
            if status != layout.OK:
                return status
        fact = facts.next_member(table, fact, members)
    return layout.OK


@kernel
def _list(
    table: layout.Int64s, values: layout.Int64s, r: int, group: int, at: int, value: int
) -> int:
    """List a value where it belongs, and drop the last one of too many; returns a status."""
    units = views.units(table)
    most = views.reductions(table)[r + layout.REDUCTION_MOST]
    size = units[at + layout.CHOSEN_SIZE]
    chunk = units[at + layout.CHOSEN_LAST]
    if size != 0 and _better(table, values, r, value, _last(table, at)):
        chunk = units[at + layout.CHOSEN_FIRST]
        while not _better(table, values, r, value, _last_of(table, chunk)):
            chunk = facts.word(table, chunk, layout.CHUNK_NEXT)
    elif size >= most:
        return layout.OK
    if chunk == 0 or facts.word(table, chunk, layout.CHUNK_SIZE) == _ROOM:
        added = allocate(table, layout.CHUNK_UNITS)
        if added == 0:
            return layout.FULL
        if chunk == 0:
            units[at + layout.CHOSEN_FIRST] = units[at + layout.CHOSEN_LAST] = chunk = added
        else:
            chunk = _split(table, values, r, at, chunk, added, value)
    place = facts.word(table, chunk, layout.CHUNK_SIZE)
    while place > 0 and _better(table, values, r, value, lists.chosen_at(table, chunk, place)):
        units[chunk + place + 1] = units[chunk + place]
        place -= 1
    units[chunk + place + 1] = value << layout.CHOSEN_VALUE_SHIFT
    facts.set_word(table, chunk, layout.CHUNK_SIZE, facts.word(table, chunk, layout.CHUNK_SIZE) + 1)
    units[at + layout.CHOSEN_SIZE] = size + 1
    return _drop_last(table, r, group, at) if size >= most else layout.OK


@kernel
def _split(
    table: layout.Int64s, values: layout.Int64s, r: int, at: int, chunk: int, added: int, value: int
) -> int:
    """Make room in a full chunk by another one behind it; returns the chunk for a value."""
    units = views.units(table)
    facts.set_word(table, added, layout.CHUNK_NEXT, facts.word(table, chunk, layout.CHUNK_NEXT))
    facts.set_word(table, chunk, layout.CHUNK_NEXT, added)
    if facts.word(table, added, layout.CHUNK_NEXT) == 0:
        units[at + layout.CHOSEN_LAST] = added
    if not _better(table, values, r, value, lists.chosen_at(table, chunk, _ROOM)):
        return added
    kept = _ROOM // 2
    for place in range(kept + 1, _ROOM + 1):
        units[added + place - kept] = units[chunk + place]
    facts.set_word(table, added, layout.CHUNK_SIZE, _ROOM - kept)
    facts.set_word(table, chunk, layout.CHUNK_SIZE, kept)
    return chunk if _better(table, values, r, value, lists.chosen_at(table, chunk, kept)) else added


@kernel
def _drop_last(table: layout.Int64s, r: int, group: int, at: int) -> int:
    """Drop the last value of the list, which was shown if many have come; returns a status."""
    last = views.units(table)[at + layout.CHOSEN_LAST]
    previous = 0
    if facts.word(table, last, layout.CHUNK_SIZE) == 1:
        previous = views.units(table)[at + layout.CHOSEN_FIRST]
        while facts.word(table, previous, layout.CHUNK_NEXT) != last:
            previous = facts.word(table, previous, layout.CHUNK_NEXT)
    place = facts.word(table, last, layout.CHUNK_SIZE)
    value, shown = lists.chosen_at(table, last, place), lists.is_shown(table, last, place)
    _remove(table, at, previous, last, place)
    return emit(table, r, group, value, -1) if shown else layout.OK


@kernel
def _remove(table: layout.Int64s, at: int, previous: int, chunk: int, place: int) -> None:
    """Remove an entry of a chunk, and an empty chunk behind the previous one, 0 for none."""
    units = views.units(table)
    count = facts.word(table, chunk, layout.CHUNK_SIZE) - 1
    for i in range(place, count + 1):
        units[chunk + i] = units[chunk + i + 1]
    facts.set_word(table, chunk, layout.CHUNK_SIZE, count)
    units[at + layout.CHOSEN_SIZE] -= 1
    if count != 0:
        return
    following = facts.word(table, chunk, layout.CHUNK_NEXT)
    if previous == 0:
        units[at + layout.CHOSEN_FIRST] = following
    else:
        facts.set_word(table, previous, layout.CHUNK_NEXT, following)
    if following == 0:
        units[at + layout.CHOSEN_LAST] = previous
    release(table, chunk, layout.CHUNK_UNITS)


@inlined
def _last(table: layout.Int64s, at: int) -> int:
    """The last value of a list that is not empty."""
    return _last_of(table, views.units(table)[at + layout.CHOSEN_LAST])


@inlined
def _last_of(table: layout.Int64s, chunk: int) -> int:
    """The last value of a chunk."""
    return lists.chosen_at(table, chunk, facts.word(table, chunk, layout.CHUNK_SIZE))


@inlined
def _better(table: layout.Int64s, values: layout.Int64s, r: int, value: int, other: int) -> bool:
    """Whether a value comes before another one in the order of a reduction."""
    function = views.reductions(table)[r + layout.REDUCTION_FUNCTION]
    wanted = -1 if function == layout.FUNCTION_LOWEST else 1
    return bool(order(values, value, other) == wanted)
