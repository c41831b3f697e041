"""Facts from files of delimited texts, as numbers. Invariant: equal texts have equal numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from benchmarks.peers import AbsentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


def read(
    files: Iterable[tuple[Path, int]], delimiter: str, first: Sequence[str] = ()
) -> list[NDArray[np.int32]]:
    """The distinct rows of files, each int32 of shape (n, columns).

    Args:
        files: Paths, gzipped if their suffix says so, and numbers of columns.
        delimiter: What is between two columns.
        first: Texts that have the first numbers, whether they are in a file or not.

    Raises:
        AbsentError: A file is not there.
    """
    tables = [_texts(path, width, delimiter) for path, width in files]
    columns = [pa.array(first, pa.string()), *(column for table in tables for column in table)]
    known = pc.unique(pa.chunked_array(columns))
    numbers = [
        [pc.index_in(column, value_set=known).to_numpy(zero_copy_only=False) for column in table]
        for table in tables
    ]
    return [np.unique(np.column_stack(table), axis=0).astype(np.int32) for table in numbers]


def _texts(path: Path, width: int, delimiter: str) -> list[pa.Array]:
    """The columns of a file of texts, quoted or not; a file of nothing has none."""
    if not path.is_file():
        raise AbsentError(f"{path} is absent")
    with pa.input_stream(path) as stream:
        content = stream.read()
    names = [str(column) for column in range(width)]
    if not content:
        return [pa.array([], pa.string())] * width
    table = csv.read_csv(
        pa.BufferReader(content),
        csv.ReadOptions(column_names=names),
        csv.ParseOptions(delimiter=delimiter),
        csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    return [column.combine_chunks() for column in table.columns]
