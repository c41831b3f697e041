"""What an epoch has changed, read from its journal. Invariant: rows of a relation lie together.

There are three collections: changes of derived facts, changes of the closure, and differences of
the trace. A *block* is what one of them has of one relation, or what the first two have if that is
the same, as it is where nothing is asserted. Counting finds the blocks, so that reading writes each
row where it belongs: two walks over the journal, whatever is read.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import state_of, trace_rows
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.native.compile import inlined, kernel

BOTH, DERIVED, CLOSURE, TRACE = range(4)
COLLECTIONS = 4

# A block: what it is of, the shape of its arguments, and where its first row and argument are.
COLLECTION, RELATION, ROWS, ARITY, ROW, CELL = range(6)
BLOCK_WIDTH = 6

# Before the blocks: where those of facts end, and those of the trace.
FACTS_END, TRACE_END = range(2)
ENDS = 2


@kernel
def count_changes(table: layout.Int64s, places: layout.Int64s, blocks: layout.Int64s) -> int:
    """Find the blocks of facts, and then those of the trace, by relation; returns their number.

    Hidden relations have a trace only, and copies not even that.

    Args:
        table: The addresses.
        places: By collection and relation: gets the number of the block's row, or 0.
        blocks: Rows of BLOCK_WIDTH, ENDS more than *places*: gets the ends, as blocks without rows,
            and then the blocks.
    """
    places[:] = 0
    for i in range(views.scalars(table)[layout.JOURNALED_FACTS]):
        lists.prefetch_journaled(table, i)
        fact = lists.journaled_fact(table, i)
        kind = lists.journaled_class(table, i)
        relation = facts.class_field(table, kind, layout.CLASS_RELATION)
        if facts.class_field(table, kind, layout.CLASS_HIDDEN) == 0:
            derived, closure = _difference(lists.state_before(table, i), state_of(table, fact))
            places[BOTH, relation] += derived == closure != 0
            places[DERIVED, relation] += derived != 0
            places[CLOSURE, relation] += closure != 0
        if facts.has(table, fact, layout.FRESH) and not _is_copy(table, kind):
            places[TRACE, relation] += trace_rows(table, fact)
    for i in range(views.scalars(table)[layout.JOURNALED_ENTRIES]):
        lists.prefetch_journaled_entry(table, i)
        kind = facts.class_of(table, lists.journaled_entry_fact(table, i))
        if facts.multiplicity(table, lists.journaled_entry(table, i)) != lists.multiplicity_before(
            table, i
        ) and not _is_copy(table, kind):
            places[TRACE, facts.class_field(table, kind, layout.CLASS_RELATION)] += 1
    for relation in range(places.shape[1]):
        _join(places, relation)
    return _place(table, places, blocks)


@inlined
def _join(places: layout.Int64s, relation: int) -> None:
    """Have one block of both collections of facts if they have the same rows, else two."""
    both = places[BOTH, relation]
    if both == places[DERIVED, relation] and both == places[CLOSURE, relation]:
        places[DERIVED, relation] = places[CLOSURE, relation] = 0
    else:
        places[BOTH, relation] = 0


@inlined
def _place(table: layout.Int64s, places: layout.Int64s, blocks: layout.Int64s) -> int:
    """Make blocks of the numbers of rows in *places*, by relation; returns their number."""
    block = ENDS
    for end in range(ENDS):
        first, last = (TRACE, COLLECTIONS) if end == TRACE_END else (BOTH, TRACE)
        row = 0
        cell = 0
        for relation in range(places.shape[1]):
            arity = views.arity(table, relation)
            for collection in range(first, last):
                rows = places[collection, relation]
                if rows != 0:
                    blocks[block, COLLECTION] = collection
                    blocks[block, RELATION] = relation
                    blocks[block, ROWS] = rows
                    blocks[block, ARITY] = arity
                    blocks[block, ROW] = row
                    blocks[block, CELL] = cell
                    places[collection, relation] = block
                    row += rows
                    cell += rows * arity
                    block += 1
        blocks[end, ROW] = row
        blocks[end, CELL] = cell
    return block - ENDS


@kernel
def read_changes(
    table: layout.Int64s,
    places: layout.Int64s,
    blocks: layout.Int64s,
    cells: layout.Int32s,
    signs: layout.Int8s,
    trace_cells: layout.Int32s,
    iterations: layout.Int32s,
    multiplicities: layout.Int64s,
) -> None:
    """Write all rows, each block in the order of the journal.

    Args:
        table: The addresses.
        places: As `count_changes` has left it.
        blocks: The same; first rows and arguments move behind the last ones.
        cells: Gets the arguments of changes of facts.
        signs: Gets their signs.
        trace_cells: Gets the arguments of differences of the trace.
        iterations: Gets their iterations.
        multiplicities: Gets their multiplicities.
    """
    words = views.words(table)
    for i in range(views.scalars(table)[layout.JOURNALED_FACTS]):
        lists.prefetch_journaled(table, i)
        fact = lists.journaled_fact(table, i)
        kind = lists.journaled_class(table, i)
        relation = facts.class_field(table, kind, layout.CLASS_RELATION)
        arity = facts.class_field(table, kind, layout.CLASS_ARITY)
        if facts.class_field(table, kind, layout.CLASS_HIDDEN) == 0:
            derived, closure = _difference(lists.state_before(table, i), state_of(table, fact))
            both = places[BOTH, relation]
            if derived != 0:
                block = both if both != 0 else places[DERIVED, relation]
                signs[_add(blocks, block, words, fact, arity, cells)] = derived
            if closure != 0 and both == 0:
                block = places[CLOSURE, relation]
                signs[_add(blocks, block, words, fact, arity, cells)] = closure
        if facts.has(table, fact, layout.FRESH) and not _is_copy(table, kind):
            entry = facts.first_entry(fact)
            while entry != 0:
                multiplicity = facts.multiplicity(table, entry)
                if multiplicity != 0:
                    at = _add(blocks, places[TRACE, relation], words, fact, arity, trace_cells)
                    iterations[at] = facts.iteration(table, entry)
                    multiplicities[at] = multiplicity
                entry = facts.next_entry(table, entry)
    for i in range(views.scalars(table)[layout.JOURNALED_ENTRIES]):
        lists.prefetch_journaled_entry(table, i)
        entry = lists.journaled_entry(table, i)
        difference = facts.multiplicity(table, entry) - lists.multiplicity_before(table, i)
        fact = lists.journaled_entry_fact(table, i)
        kind = facts.class_of(table, fact)
        if difference != 0 and not _is_copy(table, kind):
            block = places[TRACE, facts.class_field(table, kind, layout.CLASS_RELATION)]
            arity = facts.class_field(table, kind, layout.CLASS_ARITY)
            at = _add(blocks, block, words, fact, arity, trace_cells)
            iterations[at] = facts.iteration(table, entry)
            multiplicities[at] = difference


@inlined
def _add(
    blocks: layout.Int64s,
    block: int,
    words: layout.Int32s,
    fact: int,
    arity: int,
    cells: layout.Int32s,
) -> int:
    """Write the arguments of a fact behind those of a block; returns the number of the row."""
    row = blocks[block, ROW]
    blocks[block, ROW] = row + 1
    at = blocks[block, CELL]
    blocks[block, CELL] = at + arity
    base = facts.arguments_at(fact)
    for j in range(arity):
        cells[at + j] = words[base + j]
    return row


@inlined
def _is_copy(table: layout.Int64s, kind: int) -> bool:
    """Whether the facts of a class are copies."""
    return bool(facts.class_field(table, kind, layout.CLASS_HIDDEN) == layout.COPY)


@kernel
def _difference(before: int, after: int) -> tuple[int, int]:
    """Change of derived (present, not asserted) and of present, from two states of a fact."""
    was = before & layout.WAS_PRESENT != 0
    now = after & layout.WAS_PRESENT != 0
    was_derived = was and before & layout.WAS_ASSERTED == 0
    now_derived = now and after & layout.WAS_ASSERTED == 0
    return int(now_derived) - int(was_derived), int(now) - int(was)
