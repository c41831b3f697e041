"""Facts as records. Invariant: a relation has one record per distinct arguments."""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.slots import LOW, delete, hash_cells, mix
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel


@inlined
def allocate(table: layout.Int64s, units: int) -> int:
    """A zeroed record of *units*, or 0 if the arena is full."""
    scalars = int64_column(table[layout.SCALARS])
    free = int32_column(table[layout.FREE])
    words = int32_column(table[layout.ARENA])
    record = free[units]
    if record != 0:
        free[units] = words[2 * record]
        prefetch(table[layout.ARENA] + 8 * free[units])
        for i in range(2 * record, 2 * (record + units)):
            words[i] = 0
        return record
    record = scalars[layout.TOP]
    if record + units > scalars[layout.CAPACITY]:
        return 0
    scalars[layout.TOP] = record + units
    return record


@inlined
def release(table: layout.Int64s, record: int, units: int) -> None:
    """Put a record on the free list of its size."""
    free = int32_column(table[layout.FREE])
    words = int32_column(table[layout.ARENA])
    words[2 * record] = free[units]
    free[units] = record


@inlined
def link_offset(table: layout.Int64s, header: int, arrangement: int) -> int:
    """Word offset of an arrangement's link in a record whose first word is *header*."""
    scalars = int64_column(table[layout.SCALARS])
    offsets = int32_column(table[layout.LINK_OFFSETS])
    return offsets[(header & layout.CLASS_BITS) * scalars[layout.ARRANGEMENT_COUNT] + arrangement]


@inlined
def key_cell(table: layout.Int64s, arrangement: int) -> int:
    """The word of a record with the key of an arrangement, which is of one argument."""
    row = layout.ARRANGEMENT_WIDTH * arrangement
    operands = int32_column(table[layout.OPERANDS])
    return layout.CELLS + operands[int32_column(table[layout.ARRANGEMENTS])[row]]


@inlined
def index_id(table: layout.Int64s, arrangement: int, fact: int) -> int:
    """The id of a fact's group in the arrangement's index."""
    return int32_column(table[layout.ARENA])[2 * fact + key_cell(table, arrangement)]


@inlined
def cell(table: layout.Int64s, fact: int, code: int) -> int:
    """The term of an operand: an argument of a fact, or ~id for a constant."""
    if code < 0:
        return ~code
    return int32_column(table[layout.ARENA])[2 * fact + layout.CELLS + code]


@inlined
def classify(table: layout.Int64s, relation: int, cells: layout.Int32s, at: int) -> int:
    """The class of a fact, by walking the trie of the program's constants."""
    scalars = int64_column(table[layout.SCALARS])
    nodes = int32_column(table[layout.TRIE_NODES])
    children = int64_column(table[layout.TRIE_SLOTS])
    mask = scalars[layout.TRIE_MASK]
    node = int32_column(table[layout.RELATIONS])[2 * relation + 1]
    while nodes[2 * node] >= 0:
        key = (node << 32) | cells[at + nodes[2 * node]]
        node = nodes[2 * node + 1]
        i = mix(0, key) & mask
        while children[2 * i + 1] >= 0:
            if children[2 * i] == key:
                node = children[2 * i + 1]
                break
            i = (i + 1) & mask
    return nodes[2 * node + 1]


@inlined
def tag_of(table: layout.Int64s, relation: int, cells: layout.Int32s, at: int) -> int:
    """Hash of a fact's relation and arguments."""
    return hash_cells(relation, cells, at, int32_column(table[layout.RELATIONS])[2 * relation])


@inlined
def prefetch_slot(table: layout.Int64s, tag: int) -> None:
    """Prefetch the first slot of *tag*."""
    scalars = int64_column(table[layout.SCALARS])
    prefetch(
        table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]]
        + 8 * (tag & scalars[layout.FACT_MASK])
    )


@inlined
def prefetch_record(table: layout.Int64s, tag: int) -> int:
    """Prefetch the first record with *tag*; returns it, or 0 if there is none."""
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    mask = scalars[layout.FACT_MASK]
    i = tag & mask
    slot = slots[i]
    while slot != 0 and (slot >> 32) & LOW != tag:
        i = (i + 1) & mask
        slot = slots[i]
    fact = slot & LOW
    if fact != 0:
        prefetch(table[layout.ARENA] + 8 * fact)
        prefetch(table[layout.ARENA] + 8 * fact + 4 * layout.THIRD_CELL)  # may be on the next line
    return fact


@inlined
def prefetch_further_entry(table: layout.Int64s, fact: int) -> None:
    """Prefetch the entry of a fact that follows the one in its record."""
    following = int32_column(table[layout.ARENA])[2 * (fact + 1) + 3]
    if following != 0:
        prefetch(table[layout.ARENA] + 8 * following)


@inlined
def find_tagged(
    table: layout.Int64s, relation: int, cells: layout.Int32s, at: int, arity: int, tag: int
) -> int:
    """The fact with these arguments, or 0; *tag* is their hash."""
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    words = int32_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    mask = scalars[layout.FACT_MASK]
    i = tag & mask
    while True:
        slot = slots[i]
        if slot == 0:
            return 0
        if ((slot >> 32) & LOW) == tag:
            fact = slot & LOW
            row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
            if classes[row + layout.CLASS_RELATION] == relation:
                base = 2 * fact + layout.CELLS
                j = 0
                while j < arity and words[base + j] == cells[at + j]:
                    j += 1
                if j == arity:
                    return fact
        i = (i + 1) & mask


@kernel
def find(table: layout.Int64s, relation: int, cells: layout.Int32s, at: int) -> int:
    """The fact with these arguments, or 0."""
    arity = int32_column(table[layout.RELATIONS])[2 * relation]
    return find_tagged(table, relation, cells, at, arity, hash_cells(relation, cells, at, arity))


@inlined
def prefetch_drop_slot(table: layout.Int64s, fact: int) -> None:
    """Prefetch the slot of a fact that may be dropped: its first multiplicity is 0."""
    words = int32_column(table[layout.ARENA])
    if int64_column(table[layout.ARENA])[fact + 1] >> layout.MULTIPLICITY_SHIFT == 0:
        row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
        relation = int32_column(table[layout.CLASSES])[row + layout.CLASS_RELATION]
        prefetch_slot(table, tag_of(table, relation, words, 2 * fact + layout.CELLS))


@kernel
def drop(table: layout.Int64s, fact: int) -> None:
    """Delete a fact that has no entries and is in no arrangement."""
    words = int32_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    tag = hash_cells(
        classes[row + layout.CLASS_RELATION],
        words,
        2 * fact + layout.CELLS,
        classes[row + layout.CLASS_ARITY],
    )
    delete(table, layout.FACT_TABLE, layout.FACT_MASK, tag, fact)
    release(table, fact, classes[row + layout.CLASS_UNITS])
