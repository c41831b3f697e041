"""Facts as records. Invariant: a relation has one record per distinct arguments."""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout, slots
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
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
        i = slots.mix(0, key) & mask
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
    return slots.hash_cells(relation, cells, at, views.arity(table, relation))


@inlined
def prefetch_slot(table: layout.Int64s, tag: int) -> None:
    """Prefetch the bucket of *tag*."""
    slots.prefetch_bucket(views.fact_table(table), views.scalars(table)[layout.FACT_SIZE], tag)


@inlined
def prefetch_record(table: layout.Int64s, tag: int) -> int:
    """Prefetch a record that may have *tag*, or where to look next; returns the record, or 0."""
    address, size = views.fact_table(table), views.scalars(table)[layout.FACT_SIZE]
    bucket = slots.home(tag, size)
    found = slots.matches(address, bucket, slots.check_of(tag, size))
    if found == 0:
        slots.prefetch_next(address, bucket, size)
        return 0
    fact = slots.first_match(address, bucket, found)
    views.prefetch_fact(table, fact)
    return fact


@inlined
def prefetch_match(table: layout.Int64s, tag: int) -> int:
    """Prefetch the first record that may have *tag*; returns it, or 0 if no record has it."""
    address, size = views.fact_table(table), views.scalars(table)[layout.FACT_SIZE]
    start, check = slots.home(tag, size), slots.check_of(tag, size)
    bucket = start
    while bucket >= 0:
        found = slots.matches(address, bucket, check)
        if found != 0:
            fact = slots.first_match(address, bucket, found)
            views.prefetch_fact(table, fact)
            return fact
        bucket = slots.next_bucket(address, bucket, start, size)
    return 0


@inlined
def find_tagged(
    table: layout.Int64s, relation: int, cells: layout.Int32s, at: int, arity: int, tag: int
) -> int:
    """The fact with these arguments, or 0; *tag* is their hash."""
    address, size = views.fact_table(table), views.scalars(table)[layout.FACT_SIZE]
    start, check = slots.home(tag, size), slots.check_of(tag, size)
    bucket = start
    while bucket >= 0:
        found = slots.matches(address, bucket, check)
        while found != 0:
            fact = slots.first_match(address, bucket, found)
            if facts.field_of(table, fact, layout.CLASS_RELATION) == relation:
                base = facts.arguments_at(fact)
                j = 0
                while j < arity and views.words(table)[base + j] == cells[at + j]:
                    j += 1
                if j == arity:
                    return fact
            found &= found - 1
        bucket = slots.next_bucket(address, bucket, start, size)
    return 0


@kernel
def find(table: layout.Int64s, relation: int, cells: layout.Int32s, at: int) -> int:
    """The fact with these arguments, or 0."""
    arity = views.arity(table, relation)
    return find_tagged(table, relation, cells, at, arity, tag_of(table, relation, cells, at))


@kernel
def find_all(
    table: layout.Int64s, relation: int, cells: layout.Int32s, records: layout.Int32s
) -> int:
    """Fill in the records of facts, present or not; returns how many of them are held.

    *cells* has their arguments, one fact after the other.
    """
    arity = views.arity(table, relation)
    count = 0
    for row in range(len(records)):
        fact = find(table, relation, cells, row * arity)
        if fact != 0:
            records[count] = fact
            count += 1
    return count


@inlined
def prefetch_drop_slot(table: layout.Int64s, fact: int) -> None:
    """Prefetch the slot of a fact that may be dropped: its first multiplicity is 0."""
    if facts.multiplicity(table, facts.first_entry(fact)) == 0 and not facts.has(
        table, fact, layout.LOST
    ):
        prefetch_slot(table, slots.tag_of_fact(table, fact))


@kernel
def drop(table: layout.Int64s, fact: int) -> None:
    """Delete a fact that has no entries and is in no arrangement."""
    kind = facts.class_of(table, fact)
    if not facts.has(table, fact, layout.LOST):
        tag = slots.tag_of_fact(table, fact)
        slots.delete(table, layout.FACT_TABLE, layout.FACT_SIZE, tag, fact)
    release(table, fact, facts.class_field(table, kind, layout.CLASS_UNITS))
