"""Reading the state back. Invariant: what is restored does not depend on how files were merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.collection.updates import TraceRows
from streamreasoner.errors import StateError
from streamreasoner.storage import datafile, layout, log, sums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.rdf.dictionary import TermDictionary
    from streamreasoner.storage.datafile import DataFile
    from streamreasoner.storage.table import Table

# Rows that wait to be summed, some hundred megabytes of them; more are summed at once.
PENDING_ROWS: Final = 1 << 24
# Rows of a predicate in one block, some gigabytes of them while they are summed; a predicate with
# more is read several times, for as many blocks.
BLOCK_ROWS: Final = 1 << 26
TERMS_AT_A_TIME: Final = 1 << 20


def restore_terms(table: Table, dictionary: TermDictionary) -> int:
    """Load `terms` in id order; terms of an epoch that was cut short come too, with their ids.

    Args:
        table: The table `terms`.
        dictionary: Empty.

    Returns:
        Number of terms in the table.

    Raises:
        StateError: Ids have a gap or a double, or the dictionary gave a term another id.
    """
    read = [datafile.read(table.directory, file, ["id", "term"]) for file in table.files()]
    if not read:
        return 0
    everything = pa.concat_tables(read)
    ids = everything.column("id").to_numpy()
    order = np.argsort(ids)
    if not np.array_equal(ids[order], np.arange(len(ids))):
        raise StateError(
            f"The ids of {table.directory} are not 0 to {len(ids) - 1} without gap or duplicate. "
            f"{log.RESTORE}"
        )
    terms = everything.column("term").cast(pa.large_string())
    for start in range(0, len(ids), TERMS_AT_A_TIME):
        part = terms.take(pa.array(order[start : start + TERMS_AT_A_TIME])).combine_chunks()
        given = dictionary.encode(part)
        if not np.array_equal(given, np.arange(start, start + len(part))):
            wrong = int(np.flatnonzero(given != np.arange(start, start + len(part)))[0])
            raise StateError(
                f"The term {part[wrong].as_py()} has id {start + wrong} in {table.directory} and "
                f"id {int(given[wrong])} in the dictionary, which was not empty."
            )
    return len(ids)


def restore_trace(table: Table, before: int) -> Iterator[TraceRows]:
    """The trace of all epochs below `before`, summed over epochs, in blocks of one predicate each.

    All rows of a fact are in one block. Memory holds one block at a time, and of its predicate some
    million rows that are not summed yet, so what it takes does not grow with the state.

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
    """The rows of a predicate whose first arguments have one of several remainders."""
    arguments = layout.arg_columns(table.identity.max_arity)
    arity = 0
    summed: list[NDArray[np.signedinteger]] = []
    pending: list[list[NDArray[np.signedinteger]]] = []
    waiting = 0
    for file in files:
        read = datafile.read(
            table.directory, file, [*arguments, "iteration", "epoch", "multiplicity"]
        )
        kept = pc.less(read.column("epoch"), before)
        if parts > 1 and read.column(arguments[0]).null_count == 0:
            first = read.column(arguments[0]).to_numpy()
            kept = pc.and_(kept, pa.chunked_array([pa.array(first % parts == part)]))
        elif part > 0:
            continue
        if not pc.all(kept).as_py():
            read = read.filter(kept)
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
        waiting += len(read)
        if waiting > max(PENDING_ROWS, len(summed[-1]) if summed else 0):
            summed, pending, waiting = _sum([summed, *pending]), [], 0
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
    filled = [block for block in blocks if block]
    if not filled:
        return [np.empty(0, np.int32), np.empty(0, np.int64)]
    *keys, multiplicity = (np.concatenate(column) for column in zip(*filled, strict=True))
    keys, multiplicity = sums.consolidate(keys, multiplicity.astype(np.int64, copy=False))
    return [*keys, multiplicity]
