"""Add rows to the state. Invariant: a batch is added in order and stops at the first error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.fact import classify
from streamreasoner.backends.columnar.layout import FACT_MASK, FACT_TABLE, OK
from streamreasoner.backends.columnar.pending import flush, push
from streamreasoner.backends.columnar.slots import reserve
from streamreasoner.native.compile import kernel

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.arrays import Int32s, Int64s


@kernel
def add(table: Int64s, relation: int, arity: int, cells: Int32s, multiplicities: Int64s) -> int:
    """Add asserted multiplicities at iteration 0; *cells* is (n * arity,). Returns a status."""
    reserve(table, FACT_TABLE, FACT_MASK, len(multiplicities))
    status = stage(table, relation, arity, cells, multiplicities)
    return flush(table) if status == OK else status


@kernel
def stage(table: Int64s, relation: int, arity: int, cells: Int32s, multiplicities: Int64s) -> int:
    """Like `add`, but leave the last batch pending."""
    for i in range(len(multiplicities)):
        # Most facts are new, and with two threads the staging one has time to spare.
        kind = classify(table, relation, cells, i * arity)
        status = push(table, relation, cells, i * arity, 0, multiplicities[i], kind)
        if status != OK:
            return status
    return OK


@kernel
def add_trace(
    table: Int64s,
    relation: int,
    arity: int,
    cells: Int32s,
    iterations: Int32s,
    multiplicities: Int64s,
) -> int:
    """Add multiplicities at their iterations; *cells* is (n * arity,). Returns a status."""
    reserve(table, FACT_TABLE, FACT_MASK, len(multiplicities))
    for i in range(len(multiplicities)):
        kind = classify(table, relation, cells, i * arity)
        status = push(table, relation, cells, i * arity, iterations[i], multiplicities[i], kind)
        if status != OK:
            return status
    return flush(table)
