"""Convert encoded rows to Arrow columns. Invariant: loops run over columns, never over rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.state import schemas

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.program.text import ProgramText

    File = tuple[pa.Table, dict[str, str]]
    DecodedChanges = tuple[str, Sequence[pa.Array], NDArray[np.int8]]
    DatedChanges = tuple[datetime, Iterable[DecodedChanges]]


_FILE_ROWS = 1 << 22  # rows after which the next file begins


def term_files(start: int, terms: pa.Array, epoch: int, max_arity: int) -> list[File]:
    """Rows of `terms` for the ids from `start` on, as files to append.

    Args:
        start: Id of the first term.
        terms: Canonical N-Triples.
        epoch: The epoch in which they first occurred.
        max_arity: Number of argument columns of `trace`.
    """
    if not len(terms):
        return []
    schema = schemas.file_schema(schemas.TERMS, max_arity)
    ids = np.arange(start, start + len(terms), dtype=np.int64)
    columns = [
        pa.array(ids),
        terms.cast(pa.large_string()),
        _constant(epoch, len(terms), pa.int64()),
    ]
    return [(pa.Table.from_arrays(columns, schema=schema), {})]


def trace_files(trace: Iterable[TraceRows], epoch: int, max_arity: int) -> Iterator[File]:
    """Rows of `trace` of one epoch, at least one file for each predicate.

    Raises:
        ValueError: A predicate has more arguments than the table has columns.
    """
    pending: dict[str, list[TraceRows]] = {}
    row_counts: Counter[str] = Counter()
    for rows in trace:
        if len(rows.multiplicity):
            pending.setdefault(rows.predicate, []).append(rows)
            row_counts[rows.predicate] += len(rows.multiplicity)
            if row_counts[rows.predicate] >= _FILE_ROWS:
                yield _trace_file(pending.pop(rows.predicate), epoch, max_arity)
                del row_counts[rows.predicate]
    for _, parts in sorted(pending.items()):
        yield _trace_file(parts, epoch, max_arity)


def _trace_file(parts: Sequence[TraceRows], epoch: int, max_arity: int) -> File:
    table = trace_table(
        np.concatenate([part.args for part in parts]),
        np.concatenate([part.iteration for part in parts]),
        np.concatenate([part.multiplicity for part in parts]),
        epoch,
        max_arity,
    )
    return table, {"predicate": parts[0].predicate}


def trace_table(
    args: NDArray[np.int32],
    iteration: NDArray[np.int32],
    multiplicity: NDArray[np.int64],
    epoch: int | NDArray[np.int64],
    max_arity: int,
) -> pa.Table:
    """Columns of one data file of `trace`; unused arguments are null, the predicate is in the log.

    Raises:
        ValueError: The rows have more arguments than the table has columns.
    """
    count, arity = args.shape
    if arity > max_arity:
        raise ValueError(f"A fact has {arity} arguments, the table holds {max_arity}.")
    schema = schemas.file_schema(schemas.TRACE, max_arity)
    columns = [
        *(pa.array(args[:, position].astype(np.int64)) for position in range(arity)),
        *(pa.nulls(count, pa.int64()) for _ in range(max_arity - arity)),
        pa.array(iteration.astype(np.int32, copy=False)),
        _constant(epoch, count, pa.int64()) if isinstance(epoch, int) else pa.array(epoch),
        pa.array(multiplicity.astype(np.int64, copy=False)),
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def change_files(changes: Iterable[DatedChanges], epoch: int, max_arity: int) -> Iterator[File]:
    """Rows of `changes` of one epoch, as files to append.

    Args:
        changes: Times, each with a time zone, with the blocks of that time, of one predicate each:
            its name, the decoded arguments (one string array for each position) and
            multiplicities of +1 or -1.
        epoch: The epoch.
        max_arity: Number of argument columns of `trace`.
    """
    schema = schemas.file_schema(schemas.CHANGES, max_arity)

    def file(parts: Sequence[pa.Table]) -> File:
        rows = pa.concat_tables(parts)
        columns = [
            _constant(epoch, len(rows), schema.field("epoch").type),
            *(rows.column(name) for name in schema.names[1:]),
        ]
        return pa.Table.from_arrays(columns, names=schema.names).cast(schema), {}

    pending: list[pa.Table] = []
    count = 0
    for ts, part in ((ts, part) for ts, parts in changes for part in parts):
        if len(part[-1]):
            pending.append(_change_columns(part, ts))
            count += len(part[-1])
            if count >= _FILE_ROWS:
                yield file(pending)
                pending, count = [], 0
    if pending:
        yield file(pending)


def program_files(program: ProgramText, epoch: int) -> list[File]:
    """The row of `programs` of one epoch, as a file to append."""
    schema = schemas.file_schema(schemas.PROGRAMS, 0)
    columns = [[epoch], [program.hash], [list(program.predicates)], [program.text]]
    return [(pa.table(columns, schema=schema), {})]


def waiting_files(waiting: Iterable[pa.Table], epoch: int, max_arity: int) -> Iterator[File]:
    """Rows of `waiting` of one epoch, as a file to append.

    Args:
        waiting: Tables with the columns of `waiting` but epoch, and arguments that are used only.
        epoch: The epoch in which they came.
        max_arity: Number of argument columns of `trace`.
    """
    schema = schemas.file_schema(schemas.WAITING, max_arity)
    parts = [_waiting_columns(part, epoch, schema) for part in waiting if len(part)]
    if parts:
        yield pa.concat_tables(parts), {}


def _waiting_columns(rows: pa.Table, epoch: int, schema: pa.Schema) -> pa.Table:
    columns = {
        field.name: rows.column(field.name)
        if field.name in rows.column_names
        else pa.nulls(len(rows), field.type)
        for field in schema
    }
    columns["epoch"] = _constant(epoch, len(rows), pa.int64())
    return pa.table(columns).cast(schema)


def _change_columns(changes: DecodedChanges, ts: datetime) -> pa.Table:
    predicate, columns, multiplicity = changes
    return pa.table(
        {
            "ts": _constant(ts, len(multiplicity), pa.timestamp("us", tz="UTC")),
            "predicate": _constant(predicate, len(multiplicity), pa.string()),
            "args": _lists(columns, len(multiplicity)),
            "multiplicity": pa.array(multiplicity, pa.int8()),
        }
    )


def _lists(columns: Sequence[pa.Array], count: int) -> pa.Array:
    # Concatenates the columns and takes their values row by row: n arrays become one list column.
    arity = len(columns)
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * arity)
    if arity == 0:
        return pa.ListArray.from_arrays(offsets, pa.array([], pa.large_string()))
    values = pa.concat_arrays([_one_chunk(column).cast(pa.large_string()) for column in columns])
    order = (np.arange(count)[:, None] + np.arange(arity)[None, :] * count).ravel()
    return pa.ListArray.from_arrays(offsets, pc.take(values, pa.array(order)))


def _one_chunk(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _constant(value: object, count: int, kind: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)
