"""A row as a JSON object. Invariant: the fast decoder and the exact path give the same values."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from streamreasoner.io.formats.reading.json.objects import read_object
from streamreasoner.io.formats.rows.mapped import values_of

if TYPE_CHECKING:
    from streamreasoner.config.rows import RowMapping
    from streamreasoner.io.formats.rows.mapped import Values

_CACHED_MAPPINGS = 1 << 10

values_in = msgspec.structs.astuple
"""The values of a decoded row, in the order of the columns of its mapping."""


class ObjectReader:
    """Reads rows of a mapping: as structs of the columns that it reads, without the others."""

    def __init__(self, mapping: RowMapping) -> None:
        names = {f"c{at}": name for at, name in enumerate(mapping.columns)}
        fields = [(each, str | int | float | bool | None) for each in names]
        self._mapping = mapping
        self.row: type[Any] = msgspec.defstruct("Row", fields, rename=names, gc=False)
        self._decode = msgspec.json.Decoder(self.row).decode

    def read(self, value: bytes | msgspec.Raw) -> Values:
        """The values of a row.

        Raises:
            RejectedError: It is not an object with the columns that the mapping reads.
        """
        try:
            return values_in(self._decode(value))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return values_of(read_object(bytes(value)), self._mapping)


@lru_cache(maxsize=_CACHED_MAPPINGS)
def object_reader(mapping: RowMapping) -> ObjectReader:
    """The reader of a mapping; making one takes longer than reading a row."""
    return ObjectReader(mapping)
