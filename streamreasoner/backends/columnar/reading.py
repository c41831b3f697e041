"""What a state has of a predicate. Invariant: nothing here changes it.

Rows are counted, then read into arrays of that size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.kernels.records import fact_record, layout, select
from streamreasoner.backends.columnar.read_index import scanned
from streamreasoner.engine.ports import LAST_ITERATION, Selection
from streamreasoner.engine.updates import TraceRows, check_arity
from streamreasoner.plan.algebra import Arrangement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.arena import Arena
    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.engine.ports import Bound

_BUCKETS = 1 << 16  # of the table of facts that are looked through at a time


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


def trace(state: Arena, numbering: Numbering, predicate: str, bound: Bound) -> TraceRows:
    """Every (fact, iteration, multiplicity) of the facts with these ids at these positions."""
    records = _records(state, numbering, predicate, bound)
    count = select.count_rows(state.table, records)
    args = _args(count, numbering.arities[predicate])
    rows = TraceRows(predicate, args, np.empty(count, np.int32), np.empty(count, np.int64))
    select.read_trace(state.table, records, rows.args, rows.iteration, rows.multiplicity)
    return rows


def facts(table: layout.Int64s, numbering: Numbering, predicate: str) -> NDArray[np.int32]:
    """The present facts of a predicate."""
    relation = numbering.relations[predicate]
    args = _args(select.count(table, relation), numbering.arities[predicate])
    select.read_facts(table, relation, args)
    return args


def facts_of(
    state: Arena, numbering: Numbering, predicates: Iterable[str]
) -> dict[str, NDArray[np.int32]]:
    """The present facts of predicates, from one pass over the table of facts."""
    names = [*predicates]
    records, relations = records_of(state, [numbering.relations[name] for name in names])
    order = np.argsort(relations, kind="stable")
    records, relations = records[order], relations[order]
    found = {}
    for name in names:
        relation = numbering.relations[name]
        first, last = np.searchsorted(relations, [relation, relation + 1])
        args = _args(last - first, numbering.arities[name])
        times = np.empty((last - first, 3), np.int32)
        sums = np.empty((last - first, 2), np.int64)
        select.describe(state.table, records[first:last], LAST_ITERATION, args, times, sums)
        found[name] = args[times[:, 1] >= 0]
    return found


def records_of(
    state: Arena, relations: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The facts of relations, present or not, and the relation of each."""
    classes = state.column(layout.CLASSES).reshape(-1, layout.CLASS_WIDTH)
    of_class = classes[:, layout.CLASS_RELATION].astype(np.int32)
    is_wanted = np.isin(of_class, relations)
    words, slots = state.units.view(np.int32), state.slots
    found = [np.empty((2, 0), np.int32)]
    for start in range(0, len(slots), _BUCKETS):
        records = slots[start : start + _BUCKETS]
        records = records[records != 0].astype(np.int64)
        kinds = words[layout.WORDS * records + layout.HEADER] & layout.CLASS_BITS
        mine = is_wanted[kinds]
        found.append(np.array((records[mine], of_class[kinds[mine]]), np.int32))
    return tuple(np.concatenate(found, axis=1))


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
    state: Arena,
    numbering: Numbering,
    predicate: str,
    bound: Mapping[int, int],
    iteration: int = LAST_ITERATION,
) -> Selection:
    """The facts of a predicate with these ids at these positions, as of an iteration."""
    records = _records(state, numbering, predicate, bound)
    args = _args(len(records), numbering.arities[predicate])
    times = np.empty((len(records), 3), np.int32)
    sums = np.empty((len(records), 2), np.int64)
    select.describe(state.table, records, iteration, args, times, sums)
    return Selection(args, *times.T, *sums.T)


def _records(state: Arena, numbering: Numbering, predicate: str, bound: Bound) -> NDArray[np.int32]:
    """The records of the facts with these ids at these positions, present or not."""
    relation, arity = numbering.relations[predicate], numbering.arities[predicate]
    several = [each for each in bound.values() if isinstance(each, np.ndarray)]
    if len(bound) == arity and len(several) < 2:  # noqa: PLR2004 - not all of their combinations
        args = np.empty((len(several[0]) if several else 1, arity), np.int32)
        for position, ids in bound.items():
            args[:, position] = ids
        records = np.empty(len(args), np.int32)
        return records[: fact_record.find_all(state.table, relation, cells_of(args), records)]
    return state.reads.select(state, relation, bound) if bound else scanned(state, relation, {})


def _args(rows: int, arity: int) -> NDArray[np.int32]:
    return np.empty((rows, arity), np.int32)
