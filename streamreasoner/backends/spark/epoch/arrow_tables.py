"""Arrow tables as values of the port. Invariant: a block has one predicate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    MULTIPLICITY,
    PREDICATE,
    argument,
)
from streamreasoner.engine.updates import Changes, TraceRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    Arities = Mapping[str, int]


def args_of(table: pa.Table, arity: int) -> NDArray[np.int32]:
    """Ids, int32 of shape (n, arity)."""
    args = np.empty((table.num_rows, arity), np.int32)
    for position in range(arity):
        args[:, position] = table[argument(position)].to_numpy()
    return args


def trace_of(predicate: str, arity: int, table: pa.Table) -> TraceRows:
    """Rows of the trace of one predicate."""
    iteration = table[ITERATION].to_numpy().astype(np.int32)
    return TraceRows(
        predicate, args_of(table, arity), iteration, table[MULTIPLICITY].to_numpy().astype(np.int64)
    )


def traces(table: pa.Table, arities: Arities) -> Iterator[TraceRows]:
    """Rows of a trace, by predicate."""
    nonzero = table.filter(pc.not_equal(table[MULTIPLICITY], 0))
    for predicate, part in _by_predicate(nonzero):
        yield trace_of(predicate, arities[predicate], part)


def changes(table: pa.Table, sign: str, arities: Arities) -> Iterator[Changes]:
    """Rows with a nonzero *sign* column, by predicate."""
    for predicate, part in _by_predicate(table.filter(pc.not_equal(table[sign], 0))):
        signs = part[sign].to_numpy().astype(np.int8)
        yield Changes(predicate, args_of(part, arities[predicate]), signs)


def _by_predicate(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    for predicate in sorted(pc.unique(table[PREDICATE]).to_pylist()):
        yield predicate, table.filter(pc.equal(table[PREDICATE], predicate))
