"""An epoch that is evaluated anew, in a second state. Invariant: the former state is only read.

The second state begins with what is asserted, and is evaluated like a load: all of it is new, and
so in its journal. Comparing it with the former state makes this journal that of an epoch that had
changed the former state into it: so everything else about an epoch is the same for both.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import (
    entry_at,
    find_entry,
    journal_entry,
    journal_with,
    new_record,
    state_of,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    find_tagged,
    prefetch_record,
    prefetch_slot,
    tag_of,
)
from streamreasoner.backends.columnar.kernels.records.pending import flush, push
from streamreasoner.backends.columnar.kernels.records.slots import LOW, reserve
from streamreasoner.backends.columnar.kernels.settling.settle import clear_class_lists
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel

BLOCK = 32
"""Facts whose cache misses overlap."""
_AHEAD = 16  # slots between prefetching a record and reading it
WORD_SHIFT = 6
"""A word of `found` has as many bits as 1 shifted by this."""
_WORD = 63


@kernel
def asserted(table: layout.Int64s, records: layout.Int32s) -> int:
    """Fill in the records with a multiplicity at iteration 0; returns their number.

    Args:
        table: The addresses.
        records: Has room for all facts. They come in no particular order.
    """
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    mask = scalars[layout.FACT_MASK]
    count = 0
    for i in range(mask + 1):
        prefetch(table[layout.ARENA] + 8 * (slots[(i + _AHEAD) & mask] & LOW))
        fact = slots[i] & LOW
        if fact != 0 and _multiplicity(table, fact, 0) != 0:
            records[count] = fact
            count += 1
    return count


@inlined
def _multiplicity(table: layout.Int64s, fact: int, iteration: int) -> int:
    """The multiplicity of a fact at an iteration."""
    entry = find_entry(table, fact, iteration)
    # The arena begins with an empty record.
    return int64_column(table[layout.ARENA])[entry] >> layout.MULTIPLICITY_SHIFT


@kernel
def assert_again(table: layout.Int64s, former: layout.Int64s, records: layout.Int32s) -> int:
    """Add what is asserted of the records of a former state; returns a status."""
    words = int32_column(former[layout.ARENA])
    classes = int32_column(former[layout.CLASSES])
    reserve(table, layout.FACT_TABLE, layout.FACT_MASK, len(records))
    for i in range(len(records)):
        fact = records[i]
        kind = words[2 * fact] & layout.CLASS_BITS
        relation = classes[kind * layout.CLASS_WIDTH + layout.CLASS_RELATION]
        multiplicity = _multiplicity(former, fact, 0)
        at = 2 * fact + layout.CELLS
        status = push(table, relation, words, at, 0, multiplicity, kind)
        if status != layout.OK:
            return status
    return flush(table)


@kernel
def compare(
    table: layout.Int64s, former: layout.Int64s, found: layout.Int64s, tags: layout.Int64s
) -> int:
    """Journal the difference to a former state instead of the whole state; returns a status.

    Args:
        table: The addresses of the state, which is settled, and has new facts only.
        former: Those of the former state, where the epoch has been withdrawn.
        found: Bits by fact of the former state, all 0.
        tags: Of shape (BLOCK,), for the hashes of a block of facts.
    """
    held = int64_column(former[layout.SCALARS])[layout.FACT_COUNT]
    clear_class_lists(table)
    common = _compare_facts(table, former, found, tags)
    if common < 0:
        return layout.FULL
    reserve(table, layout.FACT_TABLE, layout.FACT_MASK, held - common)
    return _add_lost(table, former, found) if held > common else layout.OK


@kernel
def _compare_facts(
    table: layout.Int64s, former: layout.Int64s, found: layout.Int64s, tags: layout.Int64s
) -> int:
    """Compare each fact of the state with the former one, and mark those that this has.

    Returns the number of these, or -1 if the arena is full.
    """
    scalars = int64_column(table[layout.SCALARS])
    old_words = int32_column(former[layout.ARENA])
    common = 0
    words = int32_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    count = scalars[layout.JOURNALED_FACTS]
    scalars[layout.JOURNALED_FACTS] = 0
    for start in range(0, count, BLOCK):
        end = min(start + BLOCK, count)
        for i in range(start, end):
            fact = facts[i] & LOW
            row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
            relation = classes[row + layout.CLASS_RELATION]
            tags[i - start] = tag_of(table, relation, words, 2 * fact + layout.CELLS)
            prefetch_slot(former, tags[i - start])
        for i in range(start, end):
            prefetch_record(former, tags[i - start])
        for i in range(start, end):
            fact = facts[i] & LOW
            kind = words[2 * fact] & layout.CLASS_BITS
            row = kind * layout.CLASS_WIDTH
            relation = classes[row + layout.CLASS_RELATION]
            arity = classes[row + layout.CLASS_ARITY]
            at = 2 * fact + layout.CELLS
            other = find_tagged(former, relation, words, at, arity, tags[i - start])
            state = 0
            if other != 0:
                common += 1
                found[other >> WORD_SHIFT] |= 1 << (other & _WORD)
            if other != 0 and old_words[2 * other] & layout.FRESH == 0:
                words[2 * fact] &= ~layout.FRESH
                state = _former_state(former, other)
                differs = _compare_entries(table, fact, former, other)
                if differs < 0:
                    return -1
                if differs == 0 and state == state_of(table, fact):
                    words[2 * fact + layout.JOURNAL_WORD] = 0
                    continue
            journal_with(table, fact, kind, state)
    return common


@inlined
def _compare_entries(table: layout.Int64s, fact: int, former: layout.Int64s, other: int) -> int:
    """Journal the multiplicities of a fact that differ from those of its former record.

    Returns whether there are any, or entries for the commit to free; -1 if the arena is full.
    """
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    differs = 0
    entry = fact + 1
    while entry != 0:
        before = _multiplicity(former, other, words[2 * entry + 2])
        if units[entry] >> layout.MULTIPLICITY_SHIFT != before:
            journal_entry(table, fact, entry, before)
            differs = 1
        elif units[entry] == layout.EMPTY_ENTRY:
            differs = 1
        entry = words[2 * entry + 3]
    added = _add_entries(table, fact, former, other)
    return added if added < 0 else differs | added


@kernel
def _add_entries(table: layout.Int64s, fact: int, former: layout.Int64s, other: int) -> int:
    """Journal the multiplicities of a former record where its fact has no entry.

    Returns whether there are any, or -1 if the arena is full.
    """
    words = int32_column(former[layout.ARENA])
    units = int64_column(former[layout.ARENA])
    added = 0
    entry = other + 1
    while entry != 0:
        before = units[entry] >> layout.MULTIPLICITY_SHIFT
        if before != 0 and find_entry(table, fact, words[2 * entry + 2]) == 0:
            empty = entry_at(table, fact, words[2 * entry + 2])
            if empty == 0:
                return -1
            journal_entry(table, fact, empty, before)
            added = 1
        entry = words[2 * entry + 3]
    return added


@kernel
def _add_lost(table: layout.Int64s, former: layout.Int64s, found: layout.Int64s) -> int:
    """Create the facts that only the former state has, without multiplicities; returns a status.

    The commit drops them, like those that an epoch has left without multiplicities.
    """
    scalars = int64_column(former[layout.SCALARS])
    slots = int64_column(former[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    words = int32_column(former[layout.ARENA])
    mask = scalars[layout.FACT_MASK]
    for i in range(mask + 1):
        ahead = slots[(i + _AHEAD) & mask]
        if not _is_marked(found, ahead & LOW):
            prefetch(former[layout.ARENA] + 8 * (ahead & LOW))
            prefetch_slot(table, (ahead >> 32) & LOW)
        fact = slots[i] & LOW
        if fact == 0 or _is_marked(found, fact) or words[2 * fact] & layout.FRESH != 0:
            continue
        if _add_empty(table, former, fact, (slots[i] >> 32) & LOW) != layout.OK:
            return layout.FULL
    return layout.OK


@inlined
def _former_state(former: layout.Int64s, fact: int) -> int:
    """The state of a fact before the epoch, which has been withdrawn but not rederived."""
    noted = int32_column(former[layout.ARENA])[2 * fact + layout.JOURNAL_WORD]
    return noted - 1 if noted != 0 else state_of(former, fact)


@inlined
def _is_marked(found: layout.Int64s, fact: int) -> bool:
    """Whether the bit of a fact is set."""
    return bool(found[fact >> WORD_SHIFT] >> (fact & _WORD) & 1 != 0)


@inlined
def _add_empty(table: layout.Int64s, former: layout.Int64s, other: int, tag: int) -> int:
    """Create a fact of a former state, without multiplicities, and journal it; returns a status."""
    words = int32_column(former[layout.ARENA])
    kind = words[2 * other] & layout.CLASS_BITS
    iteration = words[2 * (other + 1) + 2]
    # No group of a lattice has it: it is no candidate.
    header = kind | layout.UNLISTED
    fact = new_record(table, header, words, 2 * other + layout.CELLS, tag, iteration, 0)
    if fact == 0:
        return layout.FULL
    before = int64_column(former[layout.ARENA])[other + 1] >> layout.MULTIPLICITY_SHIFT
    journal_entry(table, fact, fact + 1, before)
    journal_with(table, fact, kind, _former_state(former, other))
    return layout.OK if _add_entries(table, fact, former, other) >= 0 else layout.FULL
