"""Updates from tables of Arrow. Invariant: a table is taken as a whole, or refused with a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.api.tables import MULTIPLICITY
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import DataError, TermError
from streamreasoner.io.formats.columns.statements import misplaced, not_a_term, texts_of
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.lang.ast import QUAD, TRIPLE
from streamreasoner.program.columns import positional
from streamreasoner.rdf.terms import to_ntriples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from streamreasoner.rdf.dictionary import Dictionary

_TIME = "ts"
_VALUES = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_timestamp,
    pa.types.is_date,
)


class Fault(NamedTuple):
    """Why a row is not a valid update.

    Attributes:
        row: Its number.
        column: The column at fault, None if it is the row.
        why: A sentence.
    """

    row: int
    column: str | None
    why: str

    def __str__(self) -> str:
        where = "" if self.column is None else f", column {self.column}"
        return f"Row {self.row}{where}: {self.why}"


def updates_of(
    table: object, predicate: str, columns: tuple[str, ...], dictionary: Dictionary
) -> Updates:
    """The updates of a table; see `Reasoner.apply_arrow`.

    Args:
        table: A table, or whatever hands one over through Arrow's C stream interface.
        predicate: The predicate of its facts.
        columns: The columns of its arguments; those by position do, too.
        dictionary: Encodes the terms.

    Raises:
        DataError: A column is missing, unknown or of another type, or a row is not a valid fact.
    """
    updates, faults = valid_updates(table, predicate, columns, dictionary)
    if faults:
        raise DataError(str(faults[0]))
    return updates


def valid_updates(
    table: object, predicate: str, columns: tuple[str, ...], dictionary: Dictionary
) -> tuple[Updates, list[Fault]]:
    """The updates of the valid rows of a table, and one fault of each other row.

    Args:
        table: As of `updates_of`.
        predicate: As of `updates_of`.
        columns: As of `updates_of`.
        dictionary: As of `updates_of`.

    Raises:
        DataError: A column is missing, unknown or of another type.
    """
    rows = _table(table)
    by_position = positional(predicate, len(columns))
    names = by_position if set(by_position) <= set(rows.column_names) else columns
    _check_columns(rows, predicate, names)
    args = np.empty((len(rows), len(names)), np.int32)
    faults: list[Fault] = []
    for position, name in enumerate(names):
        texts = _terms(rows.column(name), f"The column {name}")
        args[:, position] = dictionary.encode_validated(texts)
        for row in np.flatnonzero(args[:, position] < 0).tolist():
            text = texts[row].as_py()
            faults.append(Fault(row, name, "it is null." if text is None else not_a_term(text)))
    if predicate in {TRIPLE, QUAD}:
        faults += _misplaced(args, dictionary, np.full(len(args), predicate == TRIPLE))
    multiplicities, without = _multiplicities(rows)
    times, timeless = _times(rows)
    faults += [*without, *timeless]
    if faults:
        # Of a row with several faults, the one found first.
        faults = sorted({fault.row: fault for fault in reversed(faults)}.values())
        valid = np.ones(len(rows), np.bool_)
        valid[[fault.row for fault in faults]] = False
        args, multiplicities = args[valid], multiplicities[valid]
        times = None if times is None else times[valid]
    return Updates(predicate, args, multiplicities, times), faults


def _misplaced(
    args: NDArray[np.int32], dictionary: Dictionary, is_triple: NDArray[np.bool_]
) -> Iterator[Fault]:
    """Rows of terms that have one where RDF does not allow it."""
    known = np.flatnonzero((args >= 0).all(axis=1))
    for wrong, why in misplaced(args[known], is_triple[known], dictionary):
        for row in known[wrong].tolist():
            yield Fault(row, None, why)


def _terms(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """The terms of a column: texts are terms in N-Triples syntax, and values are literals.

    Raises:
        DataError: It has a type without literals, or a value without one.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not any(test(kind) for test in _VALUES):
        if pa.types.is_temporal(kind):
            raise DataError(f"{what} has the type {kind}, which is not one of literals.")
        return texts_of(column, what)
    distinct = pc.drop_null(pc.unique(column))
    try:
        literals = pa.array(map(to_ntriples, distinct.to_pylist()), pa.large_string())
    except (TermError, ValueError) as error:
        raise DataError(f"{what} has a value that is not a literal: {error}") from None
    return pc.take(literals, pc.index_in(column, distinct))


def _table(table: object) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    try:
        return pa.table(table)
    except (TypeError, ValueError, pa.ArrowException):
        raise DataError(
            f"Expected an Arrow table, got {type(table).__name__}. Give a pyarrow.Table, or a data "
            "frame that hands one over."
        ) from None


def _check_columns(rows: pa.Table, predicate: str, names: tuple[str, ...]) -> None:
    """Check that each column is there once, and no other."""
    has, optional = rows.column_names, (MULTIPLICITY, _TIME)
    wrong = [f"has no column {name}" for name in names if name not in has]
    wrong += [f"has a column {name}" for name in has if name not in {*names, *optional}]
    wrong += [f"has two columns {name}" for name in dict.fromkeys(has) if has.count(name) > 1]
    if wrong:
        raise DataError(
            f"The table {wrong[0]}; its columns are {', '.join(has) or 'none'}. Facts of "
            f"'{predicate}' have the columns {', '.join(names)}, with terms in N-Triples syntax, "
            f"and may have {' and '.join(optional)}."
        )


def _multiplicities(rows: pa.Table) -> tuple[NDArray[np.int64], list[Fault]]:
    if MULTIPLICITY not in rows.column_names:
        return np.ones(len(rows), np.int64), []
    column = rows.column(MULTIPLICITY)
    if not pa.types.is_integer(column.type):
        raise DataError(f"The column {MULTIPLICITY} has the type {column.type}, not integers.")
    numbers = _cast(column, pa.int64(), MULTIPLICITY)
    multiplicities = np.asarray(numbers.fill_null(0).to_numpy(), np.int64)
    return multiplicities, [
        Fault(row, MULTIPLICITY, f"it must be a non-zero integer, not {numbers[row].as_py()}.")
        for row in np.flatnonzero(multiplicities == 0).tolist()
    ]


def _times(rows: pa.Table) -> tuple[NDArray[np.int64] | None, list[Fault]]:
    if _TIME not in rows.column_names:
        return None, []
    column = rows.column(_TIME)
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = pc.floor_temporal(column, unit="millisecond")
        column = _cast(column, pa.timestamp("ms", kind.tz), _TIME)
    elif not pa.types.is_integer(kind):
        raise DataError(
            f"The column {_TIME} has the type {kind}. Give milliseconds since 1970 as integers, or "
            "timestamps with a time zone."
        )
    numbers = _cast(column, pa.int64(), _TIME)
    times = timestamps.in_range(numbers.fill_null(timestamps.INVALID).to_numpy())
    return times, [
        Fault(row, _TIME, f"{numbers[row].as_py()} is not a time in the years 1 to 9999.")
        for row in np.flatnonzero(times == timestamps.INVALID).tolist()
    ]


def _cast(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        raise DataError(f"The column {name} has a number beyond 64 bits.") from None
