"""Parquet files of triples and quads; see `statements`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from streamreasoner.errors import DataError
from streamreasoner.io.formats.columns.statements import ROWS, columns_of, facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.format import Facts
    from streamreasoner.rdf.dictionary import Dictionary


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Facts of a Parquet file; see `FactReader`."""
    if not isinstance(document.source, str | Path):
        raise DataError(f"{document.name}: Parquet is read from files only.")
    return read_file(Path(document.source), dictionary, {})


def read_file(
    path: Path, dictionary: Dictionary, constants: Mapping[str, str | None]
) -> Iterator[Facts]:
    """Facts of a Parquet file.

    Args:
        path: The file.
        dictionary: Encodes the terms.
        constants: Columns that the file lacks, and the value that each of its rows has.

    Raises:
        DataError: The file cannot be read, or a row is not a triple or quad.
    """
    name, first = str(path), 1
    try:
        with pq.ParquetFile(path) as file:
            has = [*file.schema_arrow.names, *constants]
            columns = columns_of(has, name)
            stored = [each for each in columns if each not in constants]
            for batch in file.iter_batches(ROWS, columns=stored):
                rows = pa.Table.from_batches([batch])
                for column in columns:
                    if column in constants:
                        text = pa.scalar(constants[column], pa.large_string())
                        rows = rows.append_column(column, pa.repeat(text, len(rows)))
                yield from facts_of(rows.select(columns), dictionary, name, first)
                first += len(rows)
    except FileNotFoundError:
        raise DataError(f"{name}: cannot be opened (No such file or directory).") from None
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{name}: cannot be read ({error}).") from None
