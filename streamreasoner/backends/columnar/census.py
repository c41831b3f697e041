"""Reading the whole state. Invariant: nothing is changed, and each fact is met once.

These walk the table of facts, so they cost as much as the state is large; epochs never call them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.entry import presence
from streamreasoner.backends.columnar.layout import (
    ARENA,
    CELLS,
    CLASS_BITS,
    CLASS_RELATION,
    CLASS_WIDTH,
    CLASSES,
    COUNT_SHIFT,
    FACT_BUFFER,
    FACT_MASK,
    FACT_TABLE,
    SCALARS,
)
from streamreasoner.backends.columnar.slots import LOW
from streamreasoner.rdf.kernels.compile import kernel
from streamreasoner.rdf.kernels.memory import int32_column, int64_column

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.arrays import Int32s, Int64s


@kernel
def count(table: Int64s, relation: int) -> tuple[int, int]:
    """Present facts of a relation, and its (fact, iteration) pairs with a multiplicity."""
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    present = 0
    counts = 0
    for i in range(scalars[FACT_MASK] + 1):
        if slots[i] == 0:
            continue
        fact = slots[i] & LOW
        if classes[(words[2 * fact] & CLASS_BITS) * CLASS_WIDTH + CLASS_RELATION] != relation:
            continue
        present += presence(table, fact)
        entry = fact + 1
        while entry != 0:
            counts += units[entry] >> COUNT_SHIFT != 0
            entry = words[2 * entry + 3]
    return present, counts


@kernel
def read_facts(table: Int64s, relation: int, args: Int32s) -> None:
    """Fill in the arguments of the present facts of a relation."""
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    words = int32_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    row = 0
    for i in range(scalars[FACT_MASK] + 1):
        if slots[i] == 0:
            continue
        fact = slots[i] & LOW
        if classes[(words[2 * fact] & CLASS_BITS) * CLASS_WIDTH + CLASS_RELATION] != relation:
            continue
        if presence(table, fact) == 0:
            continue
        for j in range(args.shape[1]):
            args[row, j] = words[2 * fact + CELLS + j]
        row += 1


@kernel
def read_trace(
    table: Int64s, relation: int, args: Int32s, iterations: Int32s, multiplicities: Int64s
) -> None:
    """Fill in the multiplicities of a relation by fact and iteration."""
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    row = 0
    for i in range(scalars[FACT_MASK] + 1):
        if slots[i] == 0:
            continue
        fact = slots[i] & LOW
        if classes[(words[2 * fact] & CLASS_BITS) * CLASS_WIDTH + CLASS_RELATION] != relation:
            continue
        entry = fact + 1
        while entry != 0:
            multiplicity = units[entry] >> COUNT_SHIFT
            if multiplicity != 0:
                for j in range(args.shape[1]):
                    args[row, j] = words[2 * fact + CELLS + j]
                iterations[row] = words[2 * entry + 2]
                multiplicities[row] = multiplicity
                row += 1
            entry = words[2 * entry + 3]
