"""Data files that the driver reads itself. Invariant: their pages are verified.

A job of Spark takes a tenth of a second for a file that is read in a millisecond. Only the disk of
this machine is read like that: all other file systems are Hadoop's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamreasoner.backends.spark.files import UnreadableFileError, local_path
from streamreasoner.backends.spark.queries.columns import EPOCH, repeated

if TYPE_CHECKING:
    from collections.abc import Sequence


def read(places: Sequence[str], form: pa.Schema, before: int) -> pa.Table:
    """The rows of files that are of epochs below *before*.

    Args:
        places: Of the files.
        form: The columns to read; those that a file lacks are 0.
        before: An epoch.

    Raises:
        UnreadableFileError: A file is missing or damaged.
    """
    tables = [_rows(place, form, before) for place in places]
    return pa.concat_tables([form.empty_table(), *tables])


def _rows(place: str, form: pa.Schema, before: int) -> pa.Table:
    path = local_path(place)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            names = set(file.schema_arrow.names)
            present = [*names.intersection(form.names), EPOCH]
            table = file.read(present, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise UnreadableFileError(path, error) from error
    epochs = table[EPOCH]
    if pc.greater_equal(pc.max(epochs), before).as_py():
        table = table.filter(pc.less(epochs, before))
    none = repeated(0, table.num_rows, pa.int64())
    columns = [table[name] if name in names else none for name in form.names]
    return pa.table(dict(zip(form.names, columns, strict=True))).cast(form)
