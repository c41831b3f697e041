"""Facts as records. Invariant: a relation has one record per distinct arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records.layout import (
    ARENA,
    CAPACITY,
    CELLS,
    CLASS_ARITY,
    CLASS_BITS,
    CLASS_RELATION,
    CLASS_UNITS,
    CLASS_WIDTH,
    CLASSES,
    FACT_BUFFER,
    FACT_MASK,
    FACT_TABLE,
    FREE,
    MULTIPLICITY_SHIFT,
    RELATIONS,
    SCALARS,
    TOP,
    TRIE_MASK,
    TRIE_NODES,
    TRIE_SLOTS,
)
from streamreasoner.backends.columnar.kernels.records.slots import LOW, delete, hash_cells, mix
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.kernels.records.layout import Int32s, Int64s


@inlined
def allocate(table: Int64s, units: int) -> int:
    """A zeroed record of *units*, or 0 if the arena is full."""
    scalars = int64_column(table[SCALARS])
    free = int32_column(table[FREE])
    words = int32_column(table[ARENA])
    record = free[units]
    if record != 0:
        free[units] = words[2 * record]
        for i in range(2 * record, 2 * (record + units)):
            words[i] = 0
        return record
    record = scalars[TOP]
    if record + units > scalars[CAPACITY]:
        return 0
    scalars[TOP] = record + units
    return record


@inlined
def release(table: Int64s, record: int, units: int) -> None:
    """Put a record on the free list of its size."""
    free = int32_column(table[FREE])
    words = int32_column(table[ARENA])
    words[2 * record] = free[units]
    free[units] = record


@inlined
def classify(table: Int64s, relation: int, cells: Int32s, at: int) -> int:
    """The class of a fact, by walking the trie of the program's constants."""
    scalars = int64_column(table[SCALARS])
    nodes = int32_column(table[TRIE_NODES])
    children = int64_column(table[TRIE_SLOTS])
    mask = scalars[TRIE_MASK]
    node = int32_column(table[RELATIONS])[2 * relation + 1]
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
def tag_of(table: Int64s, relation: int, cells: Int32s, at: int) -> int:
    """Hash of a fact's relation and arguments."""
    return hash_cells(relation, cells, at, int32_column(table[RELATIONS])[2 * relation])


@inlined
def prefetch_slot(table: Int64s, tag: int) -> None:
    """Prefetch the first slot of *tag*."""
    scalars = int64_column(table[SCALARS])
    prefetch(table[FACT_TABLE + scalars[FACT_BUFFER]] + 8 * (tag & scalars[FACT_MASK]))


@inlined
def prefetch_record(table: Int64s, tag: int) -> None:
    """Prefetch the record that the first slot of *tag* refers to."""
    scalars = int64_column(table[SCALARS])
    slot = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])[tag & scalars[FACT_MASK]]
    prefetch(table[ARENA] + 8 * (slot & LOW))


@inlined
def find_tagged(table: Int64s, relation: int, cells: Int32s, at: int, arity: int, tag: int) -> int:
    """The fact with these arguments, or 0; *tag* is their hash."""
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    words = int32_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    mask = scalars[FACT_MASK]
    i = tag & mask
    while True:
        slot = slots[i]
        if slot == 0:
            return 0
        if ((slot >> 32) & LOW) == tag:
            fact = slot & LOW
            row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
            if classes[row + CLASS_RELATION] == relation:
                base = 2 * fact + CELLS
                j = 0
                while j < arity and words[base + j] == cells[at + j]:
                    j += 1
                if j == arity:
                    return fact
        i = (i + 1) & mask


@kernel
def find(table: Int64s, relation: int, cells: Int32s, at: int) -> int:
    """The fact with these arguments, or 0."""
    arity = int32_column(table[RELATIONS])[2 * relation]
    return find_tagged(table, relation, cells, at, arity, hash_cells(relation, cells, at, arity))


@inlined
def prefetch_drop_slot(table: Int64s, fact: int) -> None:
    """Prefetch the slot of a fact that may be dropped: its first multiplicity is 0."""
    words = int32_column(table[ARENA])
    if int64_column(table[ARENA])[fact + 1] >> MULTIPLICITY_SHIFT == 0:
        row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
        relation = int32_column(table[CLASSES])[row + CLASS_RELATION]
        prefetch_slot(table, tag_of(table, relation, words, 2 * fact + CELLS))


@kernel
def drop(table: Int64s, fact: int) -> None:
    """Delete a fact that has no entries and is in no arrangement."""
    words = int32_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
    tag = hash_cells(
        classes[row + CLASS_RELATION], words, 2 * fact + CELLS, classes[row + CLASS_ARITY]
    )
    delete(table, FACT_TABLE, FACT_MASK, tag, fact)
    release(table, fact, classes[row + CLASS_UNITS])
