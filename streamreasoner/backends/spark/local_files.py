"""Parquet files that the driver reads itself. Invariant: their pages are verified.

A job of Spark takes a tenth of a second for a file that is read in a millisecond. Only the disk of
this machine is read like that: all other file systems are Hadoop's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from streamreasoner.backends.spark.files import UnreadableFileError, local_path

if TYPE_CHECKING:
    from collections.abc import Iterable


def read(place: str, names: Iterable[str]) -> pa.Table:
    """The rows of a file.

    Args:
        place: Of the file.
        names: The columns to read; those that the file lacks are left out.

    Raises:
        UnreadableFileError: The file is missing or damaged.
    """
    path = local_path(place)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            present = set(file.schema_arrow.names)
            return file.read([name for name in names if name in present], use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise UnreadableFileError(path, error) from error
