"""Restore the state from its tables. Invariant: the result does not depend on merges of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.engine.updates import TraceRows
from streamreasoner.errors import StateError
from streamreasoner.storage import datafile, layout, log, sums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.rdf.dictionary import TermDictionary
    from streamreasoner.storage.datafile import DataFile
    from streamreasoner.storage.table import Table

# Rows buffered before they are summed: some hundred megabytes.
PENDING_ROWS: Final = 1 << 24
# Rows of a predicate in one block: some gigabytes while they are summed. A larger predicate is read
# once for each of its blocks.
BLOCK_ROWS: Final = 1 << 26
TERMS_AT_A_TIME: Final = 1 << 20


def restore_terms(table: Table, dictionary: TermDictionary) -> int:
    """Load `terms` in id order, including terms of an interrupted epoch, which keep their ids.

    Args:
        table: The table `terms`.
        dictionary: An empty dictionary.

    Returns:
        Number of terms in the table.

    Raises:
        StateError: Ids are missing or repeated, or the dictionary assigned a term another id.
    """
    read = [datafile.read(table.directory, file, ["id", "term"]) for file in table.files()]
    if not read:
        return 0
    rows = pa.concat_tables(read)
    ids = rows.column("id").to_numpy()
    order = np.argsort(ids)
    if not np.array_equal(ids[order], np.arange(len(ids))):
        raise StateError(
            f"The ids of {table.directory} are not 0 to {len(ids) - 1} without gap or duplicate. "
            f"{log.RESTORE}"
        )
    terms = rows.column("term").cast(pa.large_string())
    for start in range(0, len(ids), TERMS_AT_A_TIME):
        part = terms.take(pa.array(order[start : start + TERMS_AT_A_TIME])).combine_chunks()
        encoded = dictionary.encode(part)
        if not np.array_equal(encoded, np.arange(start, start + len(part))):
            wrong = int(np.flatnonzero(encoded != np.arange(start, start + len(part)))[0])
            raise StateError(
                f"The term {part[wrong].as_py()} has id {start + wrong} in {table.directory} and "
                f"id {int(encoded[wrong])} in the dictionary, which was not empty."
            )
    return len(ids)


def restore_trace(table: Table, before: int) -> Iterator[TraceRows]:
    """The trace of all epochs below `before`, summed over epochs, in blocks of one predicate each.

    All rows of a fact are in one block. Memory holds one block and some million rows of its
    predicate that are not summed yet, so its use does not grow with the state.

    Raises:
        StateError: A data file cannot be read.
    """
    by_predicate: dict[str, list[DataFile]] = {}
    for file in table.files():
        by_predicate.setdefault(file.predicate, []).append(file)
    for predicate in sorted(by_predicate):
        files = by_predicate[predicate]
        parts = -(-sum(file.rows for file in files) // BLOCK_ROWS)
        for part in range(parts):
            block = _block(table, files, before, part, parts)
            if len(block.multiplicity):
                yield block


def _block(
    table: Table, files: Sequence[DataFile], before: int, part: int, parts: int
) -> TraceRows:
    """The rows of a predicate whose first argument is `part` modulo `parts`."""
    arguments = layout.arg_columns(table.identity.max_arity)
    arity = 0
    summed: list[NDArray[np.signedinteger]] = []
    pending: list[list[NDArray[np.signedinteger]]] = []
    pending_rows = 0
    for file in files:
        read = datafile.read(
            table.directory, file, [*arguments, "iteration", "epoch", "multiplicity"]
        )
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
    keys, multiplicity = sums.consolidate(keys, multiplicity.astype(np.int64, copy=False))
    return [*keys, multiplicity]
