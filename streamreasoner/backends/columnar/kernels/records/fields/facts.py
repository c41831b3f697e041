"""Facts, their classes, entries and groups by field. Invariant: a field is read by one function.

A fact is the number of the first unit of its record; so are entries and groups.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import views
from streamreasoner.native.compile import inlined

# Words of a record -------------------------------------------------------------------------------


@inlined
def word_at(record: int, offset: int) -> int:
    """The word of the arena at an offset of a record."""
    return layout.WORDS * record + offset


@inlined
def word(table: layout.Int64s, fact: int, offset: int) -> int:
    """A word of a record, by its offset."""
    return views.words(table)[word_at(fact, offset)]


@inlined
def set_word(table: layout.Int64s, fact: int, offset: int, value: int) -> None:
    """Set a word of a record."""
    views.words(table)[word_at(fact, offset)] = value


# Facts -------------------------------------------------------------------------------------------


@inlined
def header(table: layout.Int64s, fact: int) -> int:
    """Class and flags of a fact."""
    return word(table, fact, layout.HEADER)


@inlined
def set_header(table: layout.Int64s, fact: int, header: int) -> None:
    """Set class and flags of a fact."""
    set_word(table, fact, layout.HEADER, header)


@inlined
def has(table: layout.Int64s, fact: int, flags: int) -> bool:
    """Whether a fact has one of these flags."""
    return header(table, fact) & flags != 0


@inlined
def mark(table: layout.Int64s, fact: int, flags: int) -> None:
    """Give a fact some flags."""
    views.words(table)[word_at(fact, layout.HEADER)] |= flags


@inlined
def unmark(table: layout.Int64s, fact: int, flags: int) -> None:
    """Take flags from a fact."""
    views.words(table)[word_at(fact, layout.HEADER)] &= ~flags


@inlined
def class_of(table: layout.Int64s, fact: int) -> int:
    """The class of a fact."""
    return header(table, fact) & layout.CLASS_BITS


@inlined
def class_field(table: layout.Int64s, kind: int, field: int) -> int:
    """What a class has in a field, such as CLASS_STRATUM."""
    return views.classes(table)[layout.CLASS_WIDTH * kind + field]


@inlined
def field_of(table: layout.Int64s, fact: int, field: int) -> int:
    """What the class of a fact has in a field."""
    return class_field(table, class_of(table, fact), field)


@inlined
def arguments_at(fact: int) -> int:
    """The word of the arena where the arguments of a fact begin."""
    return word_at(fact, layout.CELLS)


@inlined
def argument(table: layout.Int64s, fact: int, position: int) -> int:
    """An argument of a fact."""
    return views.words(table)[arguments_at(fact) + position]


@inlined
def cell(table: layout.Int64s, fact: int, code: int) -> int:
    """The term of an operand: an argument of a fact, or ~id for a constant."""
    return ~code if code < 0 else argument(table, fact, code)


@inlined
def has_delta(header: int) -> bool:
    """Whether the transition of a fact with this header has changed."""
    return header & layout.DELTA_BITS != 0


@inlined
def change(header: int) -> int:
    """The change of the transition of a fact with this header, which has a delta."""
    return ((header & layout.DELTA_BITS) >> layout.DELTA_SHIFT) - layout.DELTA_ZERO


@inlined
def hidden_change(header: int, together: bool, old: bool) -> int:  # noqa: FBT001 - numba has no keyword-only arguments
    """The change of its transition that a match is read without: it comes later, or is in the step.

    Args:
        header: The first word of the match.
        together: Whether all deltas are applied together.
        old: Whether the step reads the state before the delta that is applied.
    """
    if not has_delta(header):
        return 0
    is_new = together or header & layout.APPLYING != 0
    return 0 if is_new and not old else change(header)


# Entries -----------------------------------------------------------------------------------------


@inlined
def first_entry(fact: int) -> int:
    """The entry with which a fact's record begins, and with which all its others are linked."""
    return fact


@inlined
def state(table: layout.Int64s, entry: int) -> int:
    """The word of an entry that has its flags, and its numbers if they are small."""
    return word(table, entry, layout.ENTRY_STATE)


@inlined
def next_entry(table: layout.Int64s, entry: int) -> int:
    """The entry that follows, or 0."""
    following = word(table, entry, layout.ENTRY_NEXT)
    if following < 0:
        following = word(table, ~following, layout.NUMBERS_NEXT)
    return following


@inlined
def set_next_entry(table: layout.Int64s, entry: int, following: int) -> None:
    """Set the entry that follows."""
    if has_numbers(table, entry):
        set_word(table, numbers(table, entry), layout.NUMBERS_NEXT, following)
    else:
        set_word(table, entry, layout.ENTRY_NEXT, following)


@inlined
def has_numbers(table: layout.Int64s, entry: int) -> bool:
    """Whether an entry has a record for its numbers."""
    return word(table, entry, layout.ENTRY_NEXT) < 0


@inlined
def numbers(table: layout.Int64s, entry: int) -> int:
    """The record for the numbers of an entry that has one."""
    return ~word(table, entry, layout.ENTRY_NEXT)


@inlined
def is_small(multiplicity: int) -> bool:
    """Whether the state of an entry has room for a multiplicity."""
    return -layout.LARGEST <= multiplicity <= layout.LARGEST


@inlined
def iteration(table: layout.Int64s, entry: int) -> int:
    """The iteration of an entry."""
    when = (state(table, entry) >> layout.ITERATION_SHIFT) & layout.HIGH_ITERATION
    if when == layout.HIGH_ITERATION:
        when = word(table, numbers(table, entry), layout.NUMBERS_ITERATION)
    return when


@inlined
def multiplicity(table: layout.Int64s, entry: int) -> int:
    """The multiplicity of an entry."""
    times = state(table, entry) >> layout.MULTIPLICITY_SHIFT
    if times == layout.ELSEWHERE:
        times = views.units(table)[numbers(table, entry) + layout.NUMBERS_MULTIPLICITY]
    return times


@inlined
def set_multiplicity(table: layout.Int64s, entry: int, multiplicity: int) -> None:
    """Set the multiplicity of an entry, which has room for it, and nothing else of it."""
    if state(table, entry) >> layout.MULTIPLICITY_SHIFT == layout.ELSEWHERE:
        views.units(table)[numbers(table, entry) + layout.NUMBERS_MULTIPLICITY] = multiplicity
    else:
        set_small(table, entry, multiplicity)


@inlined
def set_small(table: layout.Int64s, entry: int, multiplicity: int) -> None:
    """Set the multiplicity in the state of an entry."""
    rest = state(table, entry) & ((1 << layout.MULTIPLICITY_SHIFT) - 1)
    high = multiplicity << layout.MULTIPLICITY_SHIFT
    set_word(table, entry, layout.ENTRY_STATE, high | rest)


@inlined
def transition(table: layout.Int64s, entry: int) -> int:
    """The stored transition of an entry."""
    return (state(table, entry) & layout.TRANSITION_BITS) - layout.NO_TRANSITION


@inlined
def change_transition(table: layout.Int64s, entry: int, change: int) -> None:
    """Add to the stored transition of an entry."""
    set_word(table, entry, layout.ENTRY_STATE, state(table, entry) + change)


@inlined
def set_transition(table: layout.Int64s, entry: int, transition: int) -> None:
    """Set the stored transition of an entry."""
    rest = state(table, entry) & ~layout.TRANSITION_BITS
    set_word(table, entry, layout.ENTRY_STATE, rest | (transition + layout.NO_TRANSITION))


@inlined
def is_touched(table: layout.Int64s, entry: int) -> bool:
    """Whether the list of an entry's iteration has its fact."""
    return state(table, entry) & layout.TOUCHED != 0


@inlined
def is_journaled(table: layout.Int64s, entry: int) -> bool:
    """Whether the journal has an entry."""
    return state(table, entry) & layout.JOURNALED != 0


@inlined
def is_fact_journaled(table: layout.Int64s, fact: int) -> bool:
    """Whether the journal has a fact."""
    return state(table, first_entry(fact)) & layout.FACT_JOURNALED != 0


@inlined
def flag(table: layout.Int64s, entry: int, flags: int) -> None:
    """Give an entry some flags."""
    set_word(table, entry, layout.ENTRY_STATE, state(table, entry) | flags)


@inlined
def unflag(table: layout.Int64s, entry: int, flags: int) -> None:
    """Take flags from an entry."""
    set_word(table, entry, layout.ENTRY_STATE, state(table, entry) & ~flags)


@inlined
def is_empty_entry(table: layout.Int64s, entry: int) -> bool:
    """Whether an entry has neither a multiplicity nor a transition, and no list has it."""
    bits = state(table, entry) & layout.EMPTY_BITS
    return bits == layout.NO_TRANSITION and multiplicity(table, entry) == 0


@inlined
def copy_entry(table: layout.Int64s, source: int, target: int) -> None:
    """Make an entry like another one, its successor and the record of its numbers included."""
    views.units(table)[target] = views.units(table)[source]


@inlined
def prefetch_further_entry(table: layout.Int64s, fact: int) -> None:
    """Prefetch the entry of a fact that follows the one in its record."""
    following = next_entry(table, first_entry(fact))
    if following != 0:
        views.prefetch_unit(table, following)


# Groups ------------------------------------------------------------------------------------------


@inlined
def link_offset(table: layout.Int64s, header: int, arrangement: int) -> int:
    """What LINK_OFFSETS has for a fact with this header: below 0 if it is not a member."""
    row = (header & layout.CLASS_BITS) * views.scalars(table)[layout.ARRANGEMENT_COUNT]
    return views.link_offsets(table)[row + arrangement]


@inlined
def link_word(offset: int) -> int:
    """Word of a link in the record of a member, by its `link_offset`."""
    return offset & ~layout.LAST


@inlined
def following(table: layout.Int64s, fact: int, header: int, offset: int) -> int:
    """The fact that follows one with this header in the group of a `link_offset`, or 0."""
    if header & offset & layout.LAST != 0:
        return 0
    return word(table, fact, link_word(offset))


@inlined
def next_member(table: layout.Int64s, fact: int, arrangement: int) -> int:
    """The fact that follows in the group of an arrangement, or 0."""
    own = header(table, fact)
    return following(table, fact, own, link_offset(table, own, arrangement))


@inlined
def first_member(table: layout.Int64s, group: int) -> int:
    """The first fact of a group that has a record, or 0."""
    return word(table, group, layout.GROUP_FIRST)


@inlined
def arrangement_of(table: layout.Int64s, group: int) -> int:
    """The arrangement of a group that has a record."""
    return word(table, group, layout.GROUP_ARRANGEMENT)


@inlined
def key_at(group: int) -> int:
    """The word of the arena where the key of a group begins."""
    return word_at(group, layout.GROUP_KEY)


@inlined
def group_units(count: int) -> int:
    """Units of a group with *count* key cells."""
    return (layout.GROUP_KEY + count + layout.WORDS - 1) // layout.WORDS


@inlined
def arrangement_field(table: layout.Int64s, arrangement: int, field: int) -> int:
    """What an arrangement has in a field, such as ARRANGEMENT_KEY."""
    return views.arrangements(table)[layout.ARRANGEMENT_WIDTH * arrangement + field]


@inlined
def fields_at(table: layout.Int64s, group: int) -> int:
    """The unit after the key of a group, where the fields of lattices and reductions start."""
    number = arrangement_of(table, group)
    return group + group_units(arrangement_field(table, number, layout.ARRANGEMENT_KEY_COUNT))
