"""What an epoch has changed, read from its journal. Invariant: rows of a relation lie together.

There are three collections: changes of derived facts, changes of the closure, and differences of
the trace. A *block* is what one of them has of one relation. Counting finds the blocks, so that
reading writes each row where it belongs: two walks over the journal, whatever is read.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import (
    prefetch_journaled,
    prefetch_journaled_entry,
    state_of,
    trace_rows,
)
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel

DERIVED, CLOSURE, TRACE = range(3)
COLLECTIONS = 3

# A block: what it is of, the number of its rows, and where the first one and its arguments are.
COLLECTION, RELATION, ROWS, ROW, CELL = range(5)
BLOCK_WIDTH = 5


@kernel
def count_changes(table: layout.Int64s, places: layout.Int64s, blocks: layout.Int64s) -> int:
    """Find the blocks, by collection and relation; returns their number.

    Hidden relations have a trace only.

    Args:
        table: The addresses.
        places: By collection and relation: gets the number of the block, if it has rows.
        blocks: Rows of BLOCK_WIDTH, as many as *places*: gets the blocks.
    """
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    entries = int64_column(table[layout.JOURNAL_ENTRIES])
    places[:] = 0
    for i in range(scalars[layout.JOURNALED_FACTS]):
        prefetch_journaled(table, i)
        fact = facts[i] & LOW
        row = ((facts[i] >> layout.JOURNAL_CLASS_SHIFT) & layout.CLASS_BITS) * layout.CLASS_WIDTH
        relation = classes[row + layout.CLASS_RELATION]
        if classes[row + layout.CLASS_HIDDEN] == 0:
            derived, closure = _difference(facts[i] >> 32, state_of(table, fact))
            places[DERIVED, relation] += derived != 0
            places[CLOSURE, relation] += closure != 0
        if words[2 * fact] & layout.FRESH != 0:
            places[TRACE, relation] += trace_rows(table, fact)
    for i in range(scalars[layout.JOURNALED_ENTRIES]):
        prefetch_journaled_entry(table, i)
        if units[entries[2 * i] & LOW] >> layout.MULTIPLICITY_SHIFT != entries[2 * i + 1]:
            fact = (entries[2 * i] >> 32) & layout.FACT_BITS
            row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
            places[TRACE, classes[row + layout.CLASS_RELATION]] += 1
    return _place(table, places, blocks)


@inlined
def _place(table: layout.Int64s, places: layout.Int64s, blocks: layout.Int64s) -> int:
    """Make blocks of the numbers of rows in *places*, behind each other in each collection."""
    arities = int32_column(table[layout.RELATIONS])
    block = 0
    for collection in range(COLLECTIONS):
        row = 0
        cell = 0
        for relation in range(places.shape[1]):
            rows = places[collection, relation]
            if rows != 0:
                blocks[block, COLLECTION] = collection
                blocks[block, RELATION] = relation
                blocks[block, ROWS] = rows
                blocks[block, ROW] = row
                blocks[block, CELL] = cell
                places[collection, relation] = block
                row += rows
                cell += rows * arities[2 * relation]
                block += 1
    return block


@kernel
def read_changes(
    table: layout.Int64s,
    places: layout.Int64s,
    blocks: layout.Int64s,
    derived_cells: layout.Int32s,
    derived_signs: layout.Int8s,
    closure_cells: layout.Int32s,
    closure_signs: layout.Int8s,
    trace_cells: layout.Int32s,
    iterations: layout.Int32s,
    multiplicities: layout.Int64s,
) -> None:
    """Write all rows, each block in the order of the journal.

    Args:
        table: The addresses.
        places: As `count_changes` has left it.
        blocks: The same; first rows and arguments move behind the last ones.
        derived_cells: Arguments of changes of derived facts.
        derived_signs: Their signs.
        closure_cells: Arguments of changes of the closure.
        closure_signs: Their signs.
        trace_cells: Arguments of differences of the trace.
        iterations: Their iterations.
        multiplicities: Their multiplicities.
    """
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    entries = int64_column(table[layout.JOURNAL_ENTRIES])
    for i in range(scalars[layout.JOURNALED_FACTS]):
        prefetch_journaled(table, i)
        fact = facts[i] & LOW
        row = ((facts[i] >> layout.JOURNAL_CLASS_SHIFT) & layout.CLASS_BITS) * layout.CLASS_WIDTH
        relation, arity = classes[row + layout.CLASS_RELATION], classes[row + layout.CLASS_ARITY]
        if classes[row + layout.CLASS_HIDDEN] == 0:
            derived, closure = _difference(facts[i] >> 32, state_of(table, fact))
            if derived != 0:
                block = places[DERIVED, relation]
                derived_signs[_add(blocks, block, words, fact, arity, derived_cells)] = derived
            if closure != 0:
                block = places[CLOSURE, relation]
                closure_signs[_add(blocks, block, words, fact, arity, closure_cells)] = closure
        if words[2 * fact] & layout.FRESH != 0:
            entry = fact + 1
            while entry != 0:
                multiplicity = units[entry] >> layout.MULTIPLICITY_SHIFT
                if multiplicity != 0:
                    at = _add(blocks, places[TRACE, relation], words, fact, arity, trace_cells)
                    iterations[at] = words[2 * entry + 2]
                    multiplicities[at] = multiplicity
                entry = words[2 * entry + 3]
    for i in range(scalars[layout.JOURNALED_ENTRIES]):
        prefetch_journaled_entry(table, i)
        entry = entries[2 * i] & LOW
        difference = (units[entry] >> layout.MULTIPLICITY_SHIFT) - entries[2 * i + 1]
        if difference != 0:
            fact = (entries[2 * i] >> 32) & layout.FACT_BITS
            row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
            block = places[TRACE, classes[row + layout.CLASS_RELATION]]
            arity = classes[row + layout.CLASS_ARITY]
            at = _add(blocks, block, words, fact, arity, trace_cells)
            iterations[at] = words[2 * entry + 2]
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
    base = 2 * fact + layout.CELLS
    for j in range(arity):
        cells[at + j] = words[base + j]
    return row


@kernel
def _difference(before: int, after: int) -> tuple[int, int]:
    """Change of derived (present, not asserted) and of present, from two states of a fact."""
    was = before & layout.WAS_PRESENT != 0
    now = after & layout.WAS_PRESENT != 0
    was_derived = was and before & layout.WAS_ASSERTED == 0
    now_derived = now and after & layout.WAS_ASSERTED == 0
    return int(now_derived) - int(was_derived), int(now) - int(was)
