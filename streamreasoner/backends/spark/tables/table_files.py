"""Data files of the state's table that the driver reads itself. Invariant: of epochs before one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.backends.spark import local_files
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
    table = local_files.read(place, (*form.names, EPOCH))
    epochs = table[EPOCH]
    if pc.greater_equal(pc.max(epochs), before).as_py():
        table = table.filter(pc.less(epochs, before))
    present = set(table.column_names)
    none = repeated(0, table.num_rows, pa.int64())
    columns = [table[name] if name in present else none for name in form.names]
    return pa.table(dict(zip(form.names, columns, strict=True))).cast(form)
