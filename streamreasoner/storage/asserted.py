"""Asserted facts read from tables of any semantics. Invariant: no rule is evaluated.

The asserted part of a trace is at iteration 0, whatever the strata, lowering and built-ins were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.storage import datafile, layout, snapshot, sums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from streamreasoner.storage.datafile import DataFile

    Asserted = tuple[str, list[str], int]


def asserted(directory: Path, before: int) -> Iterator[Asserted]:
    """Predicate, canonical terms and multiplicity of each asserted fact, including stated ones.

    Args:
        directory: Directory of the tables, in the format of this release.
        before: Only epochs below this one are read.

    Raises:
        StateError: A table is damaged.
    """
    texts = _terms(directory / layout.TERMS)
    trace = directory / layout.TRACE
    arguments = layout.arg_columns(layout.argument_count(snapshot.read(trace).columns))
    by_predicate: dict[str, list[DataFile]] = {}
    for file in datafile.of_snapshot(trace, snapshot.read(trace)):
        by_predicate.setdefault(file.predicate, []).append(file)
    for predicate, files in sorted(by_predicate.items()):
        parts = [rows for file in files if len(rows := _rows(trace, file, arguments, before))]
        if not parts:
            continue
        rows = pa.concat_tables(parts)
        used = [rows.column(name) for name in arguments if not rows.column(name).null_count]
        keys, multiplicities = sums.consolidate(
            [column.to_numpy() for column in used], rows.column("multiplicity").to_numpy()
        )
        columns = [texts.take(pa.array(key)).to_pylist() for key in keys]
        for number, multiplicity in enumerate(multiplicities.tolist()):
            yield predicate, [column[number] for column in columns], multiplicity


def _terms(directory: Path) -> pa.Array:
    """The terms by id."""
    files = datafile.of_snapshot(directory, snapshot.read(directory))
    read = [datafile.read(directory, file, ["id", "term"]) for file in files]
    if not read:
        return pa.array([], pa.large_string())
    rows = pa.concat_tables(read)
    order = np.argsort(rows.column("id").to_numpy())
    return rows.column("term").cast(pa.large_string()).take(pa.array(order)).combine_chunks()


def _rows(trace: Path, file: DataFile, arguments: Sequence[str], before: int) -> pa.Table:
    """Rows at iteration 0 of the epochs below `before`."""
    read = datafile.read(trace, file, [*arguments, "iteration", "epoch", "multiplicity"])
    mask = pc.and_(pc.equal(read.column("iteration"), 0), pc.less(read.column("epoch"), before))
    return read.filter(mask)
