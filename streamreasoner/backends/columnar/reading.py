"""What a state has of a predicate. Invariant: nothing here changes it.

Rows are counted, then read into arrays of that size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.kernels.records import fact_record, select
from streamreasoner.engine.ports import LAST_ITERATION, Selection
from streamreasoner.engine.updates import TraceRows, check_arity
from streamreasoner.plan.algebra import Arrangement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.backends.columnar.kernels.records import layout


def relation_of(numbering: Numbering, predicate: str, args: NDArray[np.int32]) -> tuple[int, int]:
    """Number and arity of the relation that rows of ids are facts of.

    Raises:
        EngineError: The program has no such predicate, or it has another arity.
    """
    arity = check_arity(predicate, args, numbering.arities)
    return numbering.relations[predicate], arity


def cells_of(args: NDArray[np.int32]) -> NDArray[np.int32]:
    """Rows of ids as kernels take them: one after the other."""
    return np.ascontiguousarray(args, dtype=np.int32).reshape(-1)


def trace(table: layout.Int64s, numbering: Numbering, predicate: str) -> TraceRows:
    """Every (fact, iteration, multiplicity) of a predicate."""
    relation = numbering.relations[predicate]
    _, count = select.count(table, relation)
    args = _args(count, numbering.arities[predicate])
    rows = TraceRows(predicate, args, np.empty(count, np.int32), np.empty(count, np.int64))
    select.read_trace(table, relation, rows.args, rows.iteration, rows.multiplicity)
    return rows


def facts(table: layout.Int64s, numbering: Numbering, predicate: str) -> NDArray[np.int32]:
    """The present facts of a predicate."""
    relation = numbering.relations[predicate]
    present, _ = select.count(table, relation)
    args = _args(present, numbering.arities[predicate])
    select.read_facts(table, relation, args)
    return args


def asserted(
    table: layout.Int64s, numbering: Numbering, predicate: str, args: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Multiplicities at iteration 0 of facts."""
    relation, _ = relation_of(numbering, predicate, args)
    multiplicities = np.empty(len(args), np.int64)
    select.read_asserted(table, relation, cells_of(args), multiplicities)
    return multiplicities


def members(
    table: layout.Int64s, numbering: Numbering, predicate: str, keys: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The present facts that begin with one of these ids."""
    arrangement = numbering.groupings[Arrangement(predicate, (), (0,))]
    cells = np.ascontiguousarray(keys, np.int32)
    none = np.empty(0, np.int32)
    records = np.empty(select.members(table, arrangement, cells, none), np.int32)
    select.members(table, arrangement, cells, records)
    args = _args(len(records), numbering.arities[predicate])
    select.read_args(table, records, args)
    return args


def selection(
    table: layout.Int64s,
    numbering: Numbering,
    predicate: str,
    bound: Mapping[int, int],
    iteration: int = LAST_ITERATION,
) -> Selection:
    """The facts of a predicate with these ids at these positions, as of an iteration."""
    relation = numbering.relations[predicate]
    arity = numbering.arities[predicate]
    positions = np.array(sorted(bound), np.int32)
    ids = np.array([bound[position] for position in sorted(bound)], np.int32)
    if len(bound) == arity:
        record = fact_record.find(table, relation, ids, 0)
        records = np.array([record] if record else [], np.int32)
    else:
        none = np.empty(0, np.int32)
        count = select.select(table, relation, positions, ids, none)
        records = np.empty(count, np.int32)
        select.select(table, relation, positions, ids, records)
    args = _args(len(records), arity)
    times = np.empty((len(records), 3), np.int32)
    sums = np.empty((len(records), 2), np.int64)
    select.describe(table, records, iteration, args, times, sums)
    return Selection(args, *times.T, *sums.T)


def _args(rows: int, arity: int) -> NDArray[np.int32]:
    return np.empty((rows, arity), np.int32)
