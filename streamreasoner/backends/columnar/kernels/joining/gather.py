"""Matches of steps that intersect, without sorting. Invariant: they are those that a walk finds.

A step that intersects walks a group and looks up another fact for each member; most of these do not
exist. One by one, it waits for the memory at each member and again at each lookup. So the groups of
several *readers* are walked in turns, the slots of the facts that their members lead to are
prefetched, and then all are compared (Chen, Ailamaki, Gibbons and Mowry, "Improving hash join
performance through prefetching", ICDE 2004).

A fact that is missing has no transition when it appears, as that is at a later iteration.
"""

from __future__ import annotations

import numpy as np

from streamreasoner.backends.columnar.kernels.joining.compute import operand
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    find_tagged,
    prefetch_match,
    prefetch_slot,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.slots import hash_cells
from streamreasoner.backends.columnar.kernels.records.sorted_groups import count_lookups, is_empty
from streamreasoner.native.addresses import int32_column, signed
from streamreasoner.native.compile import inlined, kernel

_TURNS = 16  # members of each group before their lookups are compared
_ROOM = 64  # matches of a reader at a time
_READERS = layout.READERS + layout.MAX_STEPS
_HASH, _CANDIDATE_WIDTH = 1, 2  # of a candidate: row of its reader and member, hash


def columns() -> dict[int, layout.Int32s | layout.Int64s]:
    """Memory of readers, by column of the address table."""
    return {
        layout.READER_ROWS: np.zeros(_READERS * layout.READER_WIDTH, np.int32),
        layout.READER_MATCHES: np.zeros(_READERS * _ROOM, np.int64),
        layout.CANDIDATES: np.zeros(_CANDIDATE_WIDTH * _TURNS * layout.READERS, np.int64),
    }


@kernel
def open_reader(table: layout.Int64s, reader: int, first: int, depth: int) -> None:
    """Let a reader begin with the group of a step whose key is bound.

    Args:
        table: The addresses.
        reader: Its number.
        first: The plan's first step.
        depth: Number of the step in its plan, which intersects.
    """
    steps = views.steps(table)
    operands = views.operands(table)
    readers = views.readers(table)
    sorts = views.sorts(table)
    s = (first + depth) * layout.STEP_WIDTH
    own = steps[s + layout.STEP_GROUPS]
    row = reader * layout.READER_WIDTH
    readers[row + layout.READER_DEPTH] = depth
    readers[row + layout.READER_COUNT] = 0
    readers[row + layout.READER_TAKEN] = 0
    readers[row + layout.READER_MEMBER] = 0
    for i in range(1, steps[s + layout.STEP_GROUP_COUNT]):
        at = own + layout.STEP_GROUP_WIDTH * i
        key = operand(table, operands[at + layout.STEP_GROUP_KEY])
        if is_empty(table, operands[at + layout.STEP_GROUP_SORT], key):
            return
    sort = layout.SORT_WIDTH * operands[own + layout.STEP_GROUP_SORT]
    arrangement = sorts[sort + layout.SORT_ARRANGEMENT]
    key = operand(table, operands[own + layout.STEP_GROUP_KEY])
    readers[row + layout.READER_MEMBER] = int32_column(views.index(table, arrangement))[key]
    readers[row + layout.READER_ARRANGEMENT] = arrangement
    readers[row + layout.READER_VALUE] = layout.CELLS + sorts[sort + layout.SORT_VALUE]
    answered = operands[own + layout.STEP_GROUP_WIDTH + layout.STEP_GROUP_DEPTH]
    lookup = (first + answered) * layout.STEP_WIDTH
    sort = layout.SORT_WIDTH * steps[lookup + layout.STEP_SORT]
    relation = steps[lookup + layout.STEP_TARGET]
    arity = views.arity(table, relation)
    readers[row + layout.READER_ANSWERED] = answered
    readers[row + layout.READER_SORT] = steps[lookup + layout.STEP_SORT]
    readers[row + layout.READER_RELATION] = relation
    readers[row + layout.READER_ARITY] = arity
    readers[row + layout.READER_PLACE] = row + layout.READER_CELLS + sorts[sort + layout.SORT_VALUE]
    cells = steps[lookup + layout.STEP_KEY]
    for i in range(arity):
        readers[row + layout.READER_CELLS + i] = operand(table, operands[cells + i])


@kernel
def gather(table: layout.Int64s, first: int, count: int) -> None:
    """Let readers walk until their groups end, or they have as many matches as there is room for.

    Args:
        table: The addresses.
        first: The first reader.
        count: How many readers; READERS at most.
    """
    readers = views.readers(table)
    candidates = views.candidates(table)
    turns = views.scratch(table)
    waiting = _line_up(table, first, count)
    while waiting > 0:
        total = 0
        for turn in range(_TURNS):
            i = 0
            while i < waiting:
                row = turns[layout.TURN_AT + i]
                member = readers[row + layout.READER_MEMBER]
                arrangement = readers[row + layout.READER_ARRANGEMENT]
                header = facts.header(table, member)
                offset = facts.link_offset(table, header, arrangement)
                following = facts.following(table, member, header, offset)
                views.prefetch_member(table, following, facts.link_word(offset))
                value = facts.word(table, member, readers[row + layout.READER_VALUE])
                readers[readers[row + layout.READER_PLACE]] = value
                tag = hash_cells(
                    readers[row + layout.READER_RELATION],
                    readers,
                    row + layout.READER_CELLS,
                    readers[row + layout.READER_ARITY],
                )
                prefetch_slot(table, tag)
                candidates[_CANDIDATE_WIDTH * total] = lists.pack(row, member)
                candidates[_CANDIDATE_WIDTH * total + _HASH] = tag
                total += 1
                readers[row + layout.READER_MEMBER] = following
                if following != 0:
                    i += 1
                else:
                    count_lookups(table, readers[row + layout.READER_SORT], turn + 1)
                    waiting -= 1
                    turns[layout.TURN_AT + i] = turns[layout.TURN_AT + waiting]
            if waiting == 0:
                break
        views.work(table)[layout.WORK_SPENT] += total
        views.work(table)[layout.WORK_DUE] -= total
        _compare(table, total)
        waiting = _dismiss(table, waiting)


@inlined
def _line_up(table: layout.Int64s, first: int, count: int) -> int:
    """Let the readers take turns that have something to read; returns their number."""
    waiting = 0
    for reader in range(first, first + count):
        row = reader * layout.READER_WIDTH
        if views.readers(table)[row + layout.READER_MEMBER] != 0:
            views.prefetch_unit(table, views.readers(table)[row + layout.READER_MEMBER])
            views.scratch(table)[layout.TURN_AT + waiting] = row
            waiting += 1
    return waiting


@inlined
def _dismiss(table: layout.Int64s, waiting: int) -> int:
    """Dismiss the readers that have too little room for matches; returns the number of others."""
    turns = views.scratch(table)
    i = 0
    while i < waiting:
        row = turns[layout.TURN_AT + i]
        count_lookups(table, views.readers(table)[row + layout.READER_SORT], _TURNS)
        if views.readers(table)[row + layout.READER_COUNT] + _TURNS <= _ROOM:
            i += 1
        else:
            waiting -= 1
            turns[layout.TURN_AT + i] = turns[layout.TURN_AT + waiting]
    return waiting


@inlined
def _compare(table: layout.Int64s, total: int) -> None:
    """Look up what candidates lead to, and list their readers' matches."""
    readers = views.readers(table)
    matches = views.reader_matches(table)
    candidates = views.candidates(table)
    kept = 0
    for i in range(total):
        tag = candidates[_CANDIDATE_WIDTH * i + _HASH]
        if prefetch_match(table, tag) != 0:
            candidates[_CANDIDATE_WIDTH * kept] = candidates[_CANDIDATE_WIDTH * i]
            candidates[_CANDIDATE_WIDTH * kept + _HASH] = tag
            kept += 1
    for i in range(kept):
        candidate = candidates[_CANDIDATE_WIDTH * i]
        row, member = lists.upper(candidate), lists.lower(candidate)
        value = facts.word(table, member, readers[row + layout.READER_VALUE])
        readers[readers[row + layout.READER_PLACE]] = value
        found = find_tagged(
            table,
            readers[row + layout.READER_RELATION],
            readers,
            row + layout.READER_CELLS,
            readers[row + layout.READER_ARITY],
            candidates[_CANDIDATE_WIDTH * i + _HASH],
        )
        if found != 0:
            count = readers[row + layout.READER_COUNT]
            readers[row + layout.READER_COUNT] = count + 1
            matches[(row // layout.READER_WIDTH) * _ROOM + count] = lists.pack(member, found)


@kernel
def begin_matches(table: layout.Int64s, first: int, reader: int) -> None:
    """Set the first match of a reader's step, and the lookup that it answers; 0 if there is none.

    Args:
        table: The addresses.
        first: The plan's first step.
        reader: The reader, which has gathered.
    """
    depth = views.readers(table)[reader * layout.READER_WIDTH + layout.READER_DEPTH]
    s = (first + depth) * layout.STEP_WIDTH
    at = views.steps(table)[s + layout.STEP_GROUPS]
    for _ in range(1, views.steps(table)[s + layout.STEP_GROUP_COUNT]):
        at += layout.STEP_GROUP_WIDTH
        views.scratch(table)[
            layout.FOUND_AT + views.operands(table)[at + layout.STEP_GROUP_DEPTH]
        ] = 0
    views.scratch(table)[layout.MEMBER_AT + depth] = ~reader
    next_match(table, reader)


@kernel
def next_match(table: layout.Int64s, reader: int) -> None:
    """Set the next match of a reader's step, and the lookup that it answers; 0 after the last."""
    scratch = views.scratch(table)
    readers = views.readers(table)
    row = reader * layout.READER_WIDTH
    depth = readers[row + layout.READER_DEPTH]
    scratch[layout.FACT_AT + depth] = 0
    if readers[row + layout.READER_TAKEN] == readers[row + layout.READER_COUNT]:
        if readers[row + layout.READER_MEMBER] == 0:
            return
        readers[row + layout.READER_TAKEN] = readers[row + layout.READER_COUNT] = 0
        gather(table, reader, signed(1))
        if readers[row + layout.READER_COUNT] == 0:
            return
    taken = readers[row + layout.READER_TAKEN]
    readers[row + layout.READER_TAKEN] = taken + 1
    match = views.reader_matches(table)[reader * _ROOM + taken]
    scratch[layout.FACT_AT + depth] = lists.upper(match)
    scratch[layout.FOUND_AT + readers[row + layout.READER_ANSWERED]] = lists.lower(match)
    views.scalars(table)[layout.GATHERED] += 1
