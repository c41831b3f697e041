"""Arrangements: groups of facts with equal key. Invariant: a fact is in its groups iff ARRANGED.

A group is an intrusive doubly linked list: a fact has one pair of link words per arrangement of its
class. With a key of one argument the list head is in the *index* of the arrangement, an array by id
(ids are dense); otherwise it is in a group record found by hashing the key.

The candidates of a lattice form groups too; a candidate is in its group unless it is UNLISTED.
These groups are always records, and the index of a lattice holds their ids.

If the constants of an arrangement are those of a single group of another one, it is *nested* there:
the facts of each of its groups follow each other in that group, and both share a pair of links.
"Triples of rdf:type, by class" is nested in "triples, by predicate". The LAST fact of a group in a
nested arrangement is marked, as the link leads on to the next group. So the first fact of a group
that has others need not be the first of the list. Both arrangements have an index.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout, slots
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    allocate,
    index_id,
    key_position,
    release,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.backends.columnar.kernels.records.walk import forget_milestones
from streamreasoner.backends.columnar.kernels.records.winners import forget_winners
from streamreasoner.native.addresses import int32_column
from streamreasoner.native.compile import inlined, kernel


@inlined
def find_group(
    table: layout.Int64s, arrangement: int, cells: layout.Int32s, at: int, count: int, tag: int
) -> int:
    """The group with this key, or 0."""
    address, size = views.group_table(table), views.scalars(table)[layout.GROUP_SIZE]
    start, check = slots.home(tag, size), slots.check_of(tag, size)
    bucket = start
    while bucket >= 0:
        found = slots.matches(address, bucket, check)
        while found != 0:
            group = slots.first_match(address, bucket, found)
            if facts.arrangement_of(table, group) == arrangement:
                base = facts.key_at(group)
                j = 0
                while j < count and views.words(table)[base + j] == cells[at + j]:
                    j += 1
                if j == count:
                    return group
            found &= found - 1
        bucket = slots.next_bucket(address, bucket, start, size)
    return 0


@inlined
def find_first(
    table: layout.Int64s, arrangement: int, cells: layout.Int32s, at: int, count: int
) -> int:
    """The first fact of the group with this key, or 0."""
    index = views.index(table, arrangement)
    if index != 0:
        return int32_column(index)[cells[at]]
    tag = slots.hash_cells(arrangement, cells, at, count)
    group = find_group(table, arrangement, cells, at, count, tag)
    return facts.first_member(table, group) if group != 0 else 0


@inlined
def _load_key(table: layout.Int64s, arrangement: int, fact: int) -> tuple[int, int]:
    """Write a fact's key in an arrangement to the scratch column; returns its length and tag."""
    start = facts.arrangement_field(table, arrangement, layout.ARRANGEMENT_KEY)
    count = facts.arrangement_field(table, arrangement, layout.ARRANGEMENT_KEY_COUNT)
    for i in range(count):
        views.scratch(table)[layout.ARRANGED_KEY + i] = facts.argument(
            table, fact, views.operands(table)[start + i]
        )
    return count, slots.hash_cells(arrangement, views.scratch(table), layout.ARRANGED_KEY, count)


@kernel
def group_of(table: layout.Int64s, arrangement: int, fact: int) -> int:
    """The record of the group with a fact's key, or 0."""
    index = views.index(table, arrangement)
    if index != 0:
        return int32_column(index)[index_id(table, arrangement, fact)]
    count, tag = _load_key(table, arrangement, fact)
    return find_group(table, arrangement, views.scratch(table), layout.ARRANGED_KEY, count, tag)


@kernel
def ensure_group(table: layout.Int64s, arrangement: int, fact: int, extra: int) -> int:
    """The group with a fact's key, created with *extra* units if missing; 0 if out of memory."""
    group = group_of(table, arrangement, fact)
    if group == 0:
        group = _new_group(table, arrangement, fact, extra)
    return group


@inlined
def prefetch_lattice_group(table: layout.Int64s, kind: int, cells: layout.Int32s, at: int) -> None:
    """Prefetch the group of a candidate of class *kind* with these arguments, if it is indexed."""
    arrangement = facts.class_field(table, kind, layout.CLASS_LATTICE) - 1
    if arrangement < 0:
        return
    index = views.index(table, arrangement)
    if index != 0:
        group = int32_column(index)[cells[at + key_position(table, arrangement)]]
        views.prefetch_unit(table, group)
        views.prefetch_unit(
            table, group + layout.LATTICE_UNITS
        )  # the fields may be on the next line


@kernel
def drop_group(table: layout.Int64s, group: int, extra: int) -> None:
    """Delete a group that has *extra* units after its key."""
    arrangement = facts.arrangement_of(table, group)
    count = facts.arrangement_field(table, arrangement, layout.ARRANGEMENT_KEY_COUNT)
    index = views.index(table, arrangement)
    if index != 0:
        int32_column(index)[views.words(table)[facts.key_at(group)]] = 0
    else:
        tag = slots.tag_of_group(table, group)
        slots.delete(table, layout.GROUP_TABLE, layout.GROUP_SIZE, tag, group)
    release(table, group, facts.group_units(count) + extra)


@kernel
def _new_group(table: layout.Int64s, arrangement: int, fact: int, extra: int) -> int:
    count, tag = _load_key(table, arrangement, fact)
    group = allocate(table, facts.group_units(count) + extra)
    if group == 0:
        return 0
    facts.set_word(table, group, layout.GROUP_ARRANGEMENT, arrangement)
    for i in range(count):
        views.words(table)[facts.key_at(group) + i] = views.scratch(table)[layout.ARRANGED_KEY + i]
    index = views.index(table, arrangement)
    if index != 0:
        int32_column(index)[views.scratch(table)[layout.ARRANGED_KEY]] = group
    else:
        slots.insert(table, layout.GROUP_TABLE, layout.GROUP_SIZE, tag, group)
    return group


@kernel
def arrange(table: layout.Int64s, fact: int) -> int:
    """Add a fact to its group in every arrangement of its class; returns a status."""
    words = views.words(table)
    memberships = views.memberships(table)
    kind = facts.class_of(table, fact)
    link = facts.word_at(fact, facts.class_field(table, kind, layout.CLASS_LINKS))
    # Create all groups first: if the arena is full, the fact must be in none of them.
    first = facts.class_field(table, kind, layout.CLASS_MEMBERSHIPS)
    indexes = views.indexes(table)
    for i in range(facts.class_field(table, kind, layout.CLASS_LINK_COUNT)):
        arrangement = memberships[layout.MEMBERSHIP_WIDTH * (first + i)]
        if indexes[arrangement] == 0:
            group = ensure_group(table, arrangement, fact, 0)
            if group == 0:
                return layout.FULL
            words[link + layout.LINK_WIDTH * i + layout.LINK_PREVIOUS] = group
    for i in range(facts.class_field(table, kind, layout.CLASS_LINK_COUNT)):
        row = layout.MEMBERSHIP_WIDTH * (first + i)
        arrangement = memberships[row + layout.MEMBERSHIP_ARRANGEMENT]
        nested = memberships[row + layout.MEMBERSHIP_NESTED]
        index = indexes[arrangement]
        if index != 0:
            views.filled(table)[arrangement] = index
            firsts, at = int32_column(index), index_id(table, arrangement, fact)
        else:
            firsts = words
            at = facts.word_at(words[link + layout.LINK_PREVIOUS], layout.GROUP_FIRST)
        following = firsts[at]
        if nested >= 0:
            own = _first_nested(table, fact, nested)
            if own != 0:
                following = own
        _insert(table, fact, arrangement, link, following, firsts, at)
        link += layout.LINK_WIDTH
    facts.mark(table, fact, layout.ARRANGED)
    return layout.OK


@inlined
def _first_nested(table: layout.Int64s, fact: int, nested: int) -> int:
    """Make a fact the first one of its group in a nested arrangement; returns that before, or 0."""
    index = views.indexes(table)[nested]
    views.filled(table)[nested] = index
    at = index_id(table, nested, fact)
    before = int32_column(index)[at]
    int32_column(index)[at] = fact
    if before == 0:
        facts.mark(table, fact, layout.LAST)
    return before


@kernel
def enlist(table: layout.Int64s, fact: int) -> int:
    """Add a candidate, present or not, to the group of its lattice; returns a status."""
    arrangement = facts.field_of(table, fact, layout.CLASS_LATTICE) - 1
    group = ensure_group(table, arrangement, fact, layout.LATTICE_UNITS)
    if group == 0:
        return layout.FULL
    prepend_candidate(
        table, group, fact, facts.link_offset(table, facts.header(table, fact), arrangement)
    )
    facts.unmark(table, fact, layout.UNLISTED)
    return layout.OK


@inlined
def prepend_candidate(table: layout.Int64s, group: int, fact: int, offset: int) -> None:
    """Prepend a candidate, whose link is *offset* words behind its header, to those of its group.

    Every candidate has the link at the same word, so the first one need not be read.
    """
    following = facts.first_member(table, group)
    facts.set_word(table, fact, offset + layout.LINK_NEXT, following)
    facts.set_word(table, fact, offset + layout.LINK_PREVIOUS, 0)
    if following != 0:
        facts.set_word(table, following, offset + layout.LINK_PREVIOUS, fact)
    facts.set_word(table, group, layout.GROUP_FIRST, fact)


@inlined
def _insert(
    table: layout.Int64s,
    fact: int,
    arrangement: int,
    link: int,
    following: int,
    firsts: layout.Int32s,
    at: int,
) -> None:
    """Insert a fact, whose link is word *link* of the arena, before another in its group.

    The first fact of the group is *firsts*[at]; *following* is 0 if there is none.
    """
    words = views.words(table)
    previous = 0
    if following != 0:
        offset = facts.link_offset(table, facts.header(table, following), arrangement)
        at_previous = facts.word_at(following, offset) + layout.LINK_PREVIOUS
        previous = words[at_previous]
        words[at_previous] = fact
    words[link + layout.LINK_NEXT] = following
    words[link + layout.LINK_PREVIOUS] = previous
    if previous != 0:
        offset = facts.link_offset(table, facts.header(table, previous), arrangement)
        facts.set_word(table, previous, offset + layout.LINK_NEXT, fact)
    else:
        firsts[at] = fact


@kernel
def withdraw(table: layout.Int64s, fact: int) -> None:
    """Remove a fact from all its groups; empty groups are dropped."""
    memberships = views.memberships(table)
    kind = facts.class_of(table, fact)
    link = facts.word_at(fact, facts.class_field(table, kind, layout.CLASS_LINKS))
    first = facts.class_field(table, kind, layout.CLASS_MEMBERSHIPS)
    is_milestone = facts.has(table, fact, layout.MILESTONE)
    for i in range(facts.class_field(table, kind, layout.CLASS_LINK_COUNT)):
        row = layout.MEMBERSHIP_WIDTH * (first + i)
        arrangement = memberships[row + layout.MEMBERSHIP_ARRANGEMENT]
        nested = memberships[row + layout.MEMBERSHIP_NESTED]
        if is_milestone:
            forget_milestones(table, arrangement, fact)
        if nested >= 0:
            if is_milestone:
                forget_milestones(table, nested, fact)
            _leave_nested(table, fact, nested, link)
        _unlink(table, fact, arrangement, link, 0)
        link += layout.LINK_WIDTH
    facts.unmark(table, fact, layout.ARRANGED | layout.MILESTONE | layout.LAST)


@inlined
def _leave_nested(table: layout.Int64s, fact: int, nested: int, link: int) -> None:
    """Let the facts around a fact, not linked yet, be the first and the last of a nested group."""
    words = views.words(table)
    firsts, at = int32_column(views.index(table, nested)), index_id(table, nested, fact)
    is_last = facts.has(table, fact, layout.LAST)
    if firsts[at] == fact:
        firsts[at] = 0 if is_last else words[link + layout.LINK_NEXT]
    elif is_last:
        facts.mark(table, words[link + layout.LINK_PREVIOUS], layout.LAST)


@kernel
def delist(table: layout.Int64s, fact: int) -> None:
    """Remove a candidate from the group of its lattice."""
    arrangement = facts.field_of(table, fact, layout.CLASS_LATTICE) - 1
    link = facts.word_at(fact, facts.link_offset(table, facts.header(table, fact), arrangement))
    if (
        views.words(table)[link + layout.LINK_NEXT] == 0
        and views.words(table)[link + layout.LINK_PREVIOUS] == 0
    ):
        forget_winners(table, facts.fields_at(table, group_of(table, arrangement, fact)))
    _unlink(table, fact, arrangement, link, layout.LATTICE_UNITS)
    facts.mark(table, fact, layout.UNLISTED)


@kernel
def _unlink(table: layout.Int64s, fact: int, arrangement: int, link: int, extra: int) -> None:
    """Remove a fact, whose link is word *link* of the arena, from its group."""
    following = views.words(table)[link + layout.LINK_NEXT]
    previous = views.words(table)[link + layout.LINK_PREVIOUS]
    if following != 0:
        offset = facts.link_offset(table, facts.header(table, following), arrangement)
        facts.set_word(table, following, offset + layout.LINK_PREVIOUS, previous)
    if previous != 0:
        offset = facts.link_offset(table, facts.header(table, previous), arrangement)
        facts.set_word(table, previous, offset + layout.LINK_NEXT, following)
        return
    index = views.index(table, arrangement)
    if index != 0 and extra == 0:
        int32_column(index)[index_id(table, arrangement, fact)] = following
        return
    group = group_of(table, arrangement, fact)
    facts.set_word(table, group, layout.GROUP_FIRST, following)
    if following == 0:
        drop_group(table, group, extra)
