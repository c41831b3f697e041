"""Restore the state from its tables. Invariant: the result does not depend on merges of files.

The asserted part of a trace is at iteration 0, whatever the strata, lowering and built-ins were: so
`asserted` reads tables of any semantics, and evaluates no rule.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.engine.input.registers import time_of
from streamreasoner.engine.updates import TraceRows
from streamreasoner.errors import StateError
from streamreasoner.plan.program_plan import (
    asserted_predicate,
    is_visible,
    times_asserted,
    times_retracted,
)
from streamreasoner.state import consolidate, schemas
from streamreasoner.state.delta import datafile, log, snapshot
from streamreasoner.state.delta.held import HeldTable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.state.delta.datafile import DataFile
    from streamreasoner.state.delta.table import Table

    Asserted = tuple[str, list[str], int, int | None]

# Rows buffered before they are summed: some hundred megabytes.
PENDING_ROWS: Final = 1 << 24
# Rows of a predicate in one block: some gigabytes while they are summed. A larger predicate is read
# once for each of its blocks.
BLOCK_ROWS: Final = 1 << 26
TERMS_AT_A_TIME: Final = 1 << 20


def restore_terms(table: Table | HeldTable, dictionary: Dictionary) -> int:
    """Load `terms` in id order, including terms of an interrupted epoch, which keep their ids.

    Args:
        table: The table `terms`.
        dictionary: An empty dictionary.

    Returns:
        Number of terms in the table.

    Raises:
        StateError: Ids are missing or repeated, or the dictionary assigned a term another id.
    """
    read = [table.read(file, ["id", "term"]) for file in table.files()]
    if not read:
        return 0
    rows = pa.concat_tables(read)
    order = _by_id(rows, table.directory)
    terms = rows.column("term").cast(pa.large_string())
    for start in range(0, len(order), TERMS_AT_A_TIME):
        part = terms.take(pa.array(order[start : start + TERMS_AT_A_TIME])).combine_chunks()
        encoded = dictionary.encode(part)
        if not np.array_equal(encoded, np.arange(start, start + len(part))):
            wrong = int(np.flatnonzero(encoded != np.arange(start, start + len(part)))[0])
            raise StateError(
                f"The term {part[wrong].as_py()} has id {start + wrong} in {table.directory} and "
                f"id {int(encoded[wrong])} in the dictionary, which was not empty."
            )
    return len(order)


def restore_trace(
    table: Table | HeldTable, before: int, predicates: Collection[str] | None = None
) -> Iterator[TraceRows]:
    """The trace of all epochs below `before`, summed over epochs, in blocks of one predicate each.

    All rows of a fact are in one block. Memory holds one block and some million rows of its
    predicate that are not summed yet, so its use does not grow with the state.

    Args:
        table: The table `trace`.
        before: The epoch to stop before.
        predicates: The predicates to read; None for all.

    Raises:
        StateError: A data file cannot be read.
    """
    by_predicate: dict[str, list[DataFile]] = {}
    for file in table.files():
        if predicates is None or file.predicate in predicates:
            by_predicate.setdefault(file.predicate, []).append(file)
    for predicate in sorted(by_predicate):
        files = by_predicate[predicate]
        parts = -(-sum(file.rows for file in files) // BLOCK_ROWS)
        for part in range(parts):
            block = _block(table, files, before, part, parts)
            if len(block.multiplicity):
                yield block


def _block(
    table: Table | HeldTable, files: Sequence[DataFile], before: int, part: int, parts: int
) -> TraceRows:
    """The rows of a predicate whose first argument is `part` modulo `parts`."""
    arguments = schemas.arg_columns(table.max_arity)
    arity = 0
    summed: list[NDArray[np.signedinteger]] = []
    pending: list[list[NDArray[np.signedinteger]]] = []
    pending_rows = 0
    for file in files:
        read = table.read(file, [*arguments, "iteration", "epoch", "multiplicity"])
        mask = pc.less(read.column("epoch"), before)
        if parts > 1 and read.column(arguments[0]).null_count == 0:
            first = read.column(arguments[0]).to_numpy()
            mask = pc.and_(mask, pa.chunked_array([pa.array(first % parts == part)]))
        elif part > 0:
            continue
        if not pc.all(mask).as_py():
            read = read.filter(mask)
        if not len(read):
            continue
        used = [name for name in arguments if read.column(name).null_count == 0]
        arity = len(used)
        pending.append(
            [
                *(read.column(name).to_numpy().astype(np.int32) for name in used),
                read.column("iteration").to_numpy(),
                read.column("multiplicity").to_numpy(),
            ]
        )
        pending_rows += len(read)
        if pending_rows > max(PENDING_ROWS, len(summed[-1]) if summed else 0):
            summed, pending, pending_rows = _sum([summed, *pending]), [], 0
    *keys, multiplicity = _sum([summed, *pending])
    args = np.empty((len(multiplicity), arity), np.int32)
    for position in range(arity):
        args[:, position] = keys[position]
    return TraceRows(
        files[0].predicate, args, keys[arity].astype(np.int32, copy=False), multiplicity
    )


def _sum(
    blocks: Sequence[list[NDArray[np.signedinteger]]],
) -> list[NDArray[np.signedinteger]]:
    nonempty = [block for block in blocks if block]
    if not nonempty:
        return [np.empty(0, np.int32), np.empty(0, np.int64)]
    *keys, multiplicity = (np.concatenate(column) for column in zip(*nonempty, strict=True))
    keys, multiplicity = consolidate.consolidate(keys, multiplicity.astype(np.int64, copy=False))
    return [*keys, multiplicity]


def waiting(table: Table | HeldTable, before: int, after: int) -> pa.Table:
    """Updates of the epochs below `before` that wait for slots which end after a time.

    Args:
        table: The table `waiting`.
        before: The epoch to stop before.
        after: Milliseconds since 1970.

    Raises:
        StateError: A data file cannot be read.
    """
    schema = schemas.file_schema(schemas.WAITING, table.max_arity)
    parts = [schema.empty_table()]
    for file in table.files():
        rows = table.read(file, schema.names).cast(schema)
        mask = pc.and_(pc.less(rows["epoch"], before), pc.greater(rows["slot"], after))
        parts.append(rows.filter(mask))
    return pa.concat_tables(parts)


def asserted(directory: Path, before: int) -> Iterator[Asserted]:
    """Predicate, canonical terms, multiplicity and time of assertions, including stated ones.

    Only facts that expire have times, in milliseconds since 1970: of each the last assertion and
    the last retraction.

    Args:
        directory: Directory of the tables, in the format of this release.
        before: Only epochs below this one are read.

    Raises:
        StateError: A table is damaged.
    """
    texts = terms_by_id(HeldTable(directory / schemas.TERMS))
    trace = directory / schemas.TRACE
    arguments = schemas.arg_columns(schemas.argument_count(snapshot.read(trace).columns))
    by_predicate: dict[str, list[DataFile]] = {}
    for file in datafile.of_snapshot(trace, snapshot.read(trace)):
        by_predicate.setdefault(file.predicate, []).append(file)

    def facts(predicate: str) -> Iterator[tuple[list[str], int]]:
        files = by_predicate.get(predicate, ())
        parts = [rows for file in files if len(rows := _rows(trace, file, arguments, before))]
        if not parts:
            return
        rows = pa.concat_tables(parts)
        used = [rows.column(name) for name in arguments if not rows.column(name).null_count]
        keys, multiplicities = consolidate.consolidate(
            [column.to_numpy() for column in used], rows.column("multiplicity").to_numpy()
        )
        columns = [texts.take(pa.array(key)).to_pylist() for key in keys]
        for number, multiplicity in enumerate(multiplicities.tolist()):
            yield [column[number] for column in columns], multiplicity

    for predicate in sorted(filter(is_visible, set(map(asserted_predicate, by_predicate)))):
        expiring = set()
        for args, multiplicity in facts(times_asserted(predicate)):
            expiring.add(tuple(args))
            yield predicate, args, 1, time_of(multiplicity)
        for args, multiplicity in facts(times_retracted(predicate)):
            yield predicate, args, -1, time_of(multiplicity)
        for args, multiplicity in facts(predicate):
            if tuple(args) not in expiring:
                yield predicate, args, multiplicity, None


def terms_by_id(table: HeldTable, first: int = 0) -> pa.LargeStringArray:
    """The terms of the table `terms` from an id on, by id.

    Raises:
        StateError: A data file is damaged, or ids are missing or repeated.
    """
    read = [
        table.read(file, ["id", "term"])
        for file in table.files()
        if file.may_have("id", first, sys.maxsize)
    ]
    if not read:
        return pa.array([], pa.large_string())
    rows = pa.concat_tables(read)
    rows = rows.filter(pc.greater_equal(rows.column("id"), first))
    order = _by_id(rows, table.directory, first)
    return rows.column("term").cast(pa.large_string()).take(pa.array(order)).combine_chunks()


def _by_id(terms: pa.Table, directory: Path, first: int = 0) -> NDArray[np.int64]:
    """The places of the rows of `terms` in the order of their ids, which begin with *first*."""
    ids = terms.column("id").to_numpy()
    order = np.argsort(ids)
    if not np.array_equal(ids[order], np.arange(first, first + len(ids))):
        raise StateError(
            f"The ids of {directory} are not {first} to {first + len(ids) - 1} without gap or "
            f"duplicate. {log.RESTORE}"
        )
    return order


def _rows(trace: Path, file: DataFile, arguments: Sequence[str], before: int) -> pa.Table:
    """Rows at iteration 0 of the epochs below `before`."""
    read = datafile.read(trace, file, [*arguments, "iteration", "epoch", "multiplicity"])
    mask = pc.and_(pc.equal(read.column("iteration"), 0), pc.less(read.column("epoch"), before))
    return read.filter(mask)
