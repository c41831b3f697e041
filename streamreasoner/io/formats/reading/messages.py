"""The messages of a batch that have one format. Invariant: none of them is rejected yet."""

from __future__ import annotations

from codecs import BOM_UTF8
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.config.key_kinds import KEY_BASE
from streamreasoner.io.formats.records.record import NO_SCHEMAS
from streamreasoner.rdf.iris import is_absolute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.config.rows import RowMapping
    from streamreasoner.io.formats.records.record import Schemas


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Messages of one format; n of them.

    Attributes:
        batch: The messages, with the columns of the source.
        rows: Their rows in the whole batch, ascending, int64 of shape (n,).
        mappings: The facts of the rows of tables.
        schemas: Where the schemas of records are.
        bases: What relative IRIs in the messages of a topic are resolved against, or `KEY_BASE`.
    """

    batch: pa.Table
    rows: NDArray[np.int64]
    mappings: Sequence[RowMapping] = ()
    schemas: Schemas = NO_SCHEMAS
    bases: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def values(self) -> list[bytes]:
        """The value of each, without a byte order mark."""
        values: list[bytes] = self.batch.column("value").to_pylist()
        # A format with tombstones has None too.
        return [value and value.removeprefix(BOM_UTF8) for value in values]

    def text(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Bytes with those of all values; where each starts and ends, int64 of shape (n,)."""
        chunks = self.batch.column("value").chunks
        # A batch nearly always has one, which need not be copied.
        column = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
        column = column.cast(pa.large_binary())
        _, offsets, data = column.buffers()
        bounds = np.frombuffer(
            offsets, dtype=np.int64, count=len(column) + 1, offset=8 * column.offset
        )
        return np.frombuffer(data, dtype=np.uint8), bounds[:-1], bounds[1:]

    def base(self, number: int) -> str | None:
        """What relative IRIs in a message are resolved against; None if they are mistakes."""
        base = self.bases.get(self.batch.column("topic")[number].as_py()) if self.bases else None
        if base != KEY_BASE:
            return base
        key = (self.batch.column("key")[number].as_py() or b"").decode("utf-8", "replace")
        return key if is_absolute(key) else None

    def place(self, number: int) -> str:
        """Where in the cluster a message is, as `topic-partition-offset`."""
        columns = ("topic", "partition", "offset")
        return "-".join(str(self.batch.column(name)[number].as_py()) for name in columns)


def header_values(
    batch: pa.Table, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[bytes]]:
    """The headers of a name; a message may have none, or several, which are in their order.

    Args:
        batch: Column `headers` (list of key and value).
        name: In lower case.

    Returns:
        The row of each header, int64 of shape (n,); the index of its value, int64 of shape (n,);
        and the distinct values. A header without a value has an empty one.
    """
    headers = batch.column("headers")
    if headers.null_count == len(headers):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), []
    flat = pc.list_flatten(headers)
    is_named = pc.equal(pc.ascii_lower(pc.struct_field(flat, "key")), name)
    rows = pc.list_parent_indices(headers).filter(is_named).to_numpy()
    values = pc.fill_null(pc.struct_field(flat, "value").filter(is_named), b"")
    encoded = values.dictionary_encode().combine_chunks()
    indices = encoded.indices.to_numpy().astype(np.int64)
    return rows, indices, encoded.dictionary.to_pylist()
