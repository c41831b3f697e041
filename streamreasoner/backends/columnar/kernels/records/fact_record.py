"""Facts as records. Invariant: a relation has one record per distinct arguments."""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.slots import delete, hash_cells, mix
from streamreasoner.native.addresses import fixed_address, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel


@inlined
def allocate(table: layout.Int64s, units: int) -> int:
    """A zeroed record of *units*, or 0 if the arena is full."""
    scalars = views.scalars(table)
    free = views.free(table)
    record = free[units]
    if record != 0:
        free[units] = facts.word(table, record, layout.FREE_NEXT)
        views.prefetch_unit(table, free[units])
        for unit in range(record, record + units):
            views.units(table)[unit] = 0
        return record
    record = scalars[layout.TOP]
    if record + units > scalars[layout.CAPACITY]:
        return 0
    scalars[layout.TOP] = record + units
    return record


@inlined
def release(table: layout.Int64s, record: int, units: int) -> None:
    """Put a record on the free list of its size."""
    free = views.free(table)
    facts.set_word(table, record, layout.FREE_NEXT, free[units])
    free[units] = record


@inlined
def key_position(table: layout.Int64s, arrangement: int) -> int:
    """The argument that is the key of an arrangement, which has only one."""
    return views.operands(table)[
        facts.arrangement_field(table, arrangement, layout.ARRANGEMENT_KEY)
    ]


@inlined
def index_id(table: layout.Int64s, arrangement: int, fact: int) -> int:
    """The id of a fact's group in the arrangement's index."""
    return facts.argument(table, fact, key_position(table, arrangement))


@inlined
def classify(table: layout.Int64s, relation: int, cells: layout.Int32s, at: int) -> int:
    """The class of a fact, by walking the trie of the program's constants."""
    nodes = views.trie_nodes(table)
    children = views.trie_slots(table)
    mask = views.scalars(table)[layout.TRIE_MASK]
    node = views.relations(table)[layout.RELATION_WIDTH * relation + layout.RELATION_ROOT]
    position = nodes[layout.TRIE_WIDTH * node + layout.TRIE_POSITION]
    while position >= 0:
        key = lists.pack(node, cells[at + position])
        node = nodes[layout.TRIE_WIDTH * node + layout.TRIE_DEFAULT]
        i = mix(0, key) & mask
        while children[layout.TRIE_WIDTH * i + layout.TRIE_CHILD] >= 0:
            if children[layout.TRIE_WIDTH * i + layout.TRIE_KEY] == key:
                node = children[layout.TRIE_WIDTH * i + layout.TRIE_CHILD]
                break
            i = (i + 1) & mask
        position = nodes[layout.TRIE_WIDTH * node + layout.TRIE_POSITION]
    return nodes[layout.TRIE_WIDTH * node + layout.TRIE_DEFAULT]


@inlined
def tag_of(table: layout.Int64s, relation: int, cells: layout.Int32s, at: int) -> int:
    """Hash of a fact's relation and arguments."""
    return hash_cells(relation, cells, at, views.arity(table, relation))


@inlined
def prefetch_slot(table: layout.Int64s, tag: int) -> None:
    """Prefetch the first slot of *tag*."""
    slots = fixed_address(table, layout.FACT_TABLE + views.scalars(table)[layout.FACT_BUFFER])
    prefetch(slots + layout.UNIT_BYTES * (tag & views.scalars(table)[layout.FACT_MASK]))


@inlined
def prefetch_record(table: layout.Int64s, tag: int) -> int:
    """Prefetch the first record with *tag*; returns it, or 0 if there is none."""
    slots = int64_column(views.fact_table(table))
    mask = views.scalars(table)[layout.FACT_MASK]
    i = tag & mask
    slot = slots[i]
    while slot != 0 and lists.upper(slot) != tag:
        i = (i + 1) & mask
        slot = slots[i]
    fact = lists.lower(slot)
    if fact != 0:
        views.prefetch_fact(table, fact)
    return fact


@inlined
def find_tagged(
    table: layout.Int64s, relation: int, cells: layout.Int32s, at: int, arity: int, tag: int
) -> int:
    """The fact with these arguments, or 0; *tag* is their hash."""
    slots = int64_column(views.fact_table(table))
    mask = views.scalars(table)[layout.FACT_MASK]
    i = tag & mask
    while True:
        slot = slots[i]
        if slot == 0:
            return 0
        if lists.upper(slot) == tag:
            fact = lists.lower(slot)
            if facts.field_of(table, fact, layout.CLASS_RELATION) == relation:
                base = facts.arguments_at(fact)
                j = 0
                while j < arity and views.words(table)[base + j] == cells[at + j]:
                    j += 1
                if j == arity:
                    return fact
        i = (i + 1) & mask


@kernel
def find(table: layout.Int64s, relation: int, cells: layout.Int32s, at: int) -> int:
    """The fact with these arguments, or 0."""
    arity = views.arity(table, relation)
    return find_tagged(table, relation, cells, at, arity, hash_cells(relation, cells, at, arity))


@inlined
def prefetch_drop_slot(table: layout.Int64s, fact: int) -> None:
    """Prefetch the slot of a fact that may be dropped: its first multiplicity is 0."""
    if facts.multiplicity(table, facts.first_entry(fact)) == 0 and not facts.has(
        table, fact, layout.LOST
    ):
        relation = facts.field_of(table, fact, layout.CLASS_RELATION)
        prefetch_slot(table, tag_of(table, relation, views.words(table), facts.arguments_at(fact)))


@kernel
def drop(table: layout.Int64s, fact: int) -> None:
    """Delete a fact that has no entries and is in no arrangement."""
    kind = facts.class_of(table, fact)
    if not facts.has(table, fact, layout.LOST):
        tag = hash_cells(
            facts.class_field(table, kind, layout.CLASS_RELATION),
            views.words(table),
            facts.arguments_at(fact),
            facts.class_field(table, kind, layout.CLASS_ARITY),
        )
        delete(table, layout.FACT_TABLE, layout.FACT_MASK, tag, fact)
    release(table, fact, facts.class_field(table, kind, layout.CLASS_UNITS))
