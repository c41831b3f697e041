"""Updates as JSON objects. Invariant: each is one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.io.formats.reading import timestamps
from streamreasoner.lang.ast import TRIPLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.io.formats.writing.writer import Stamp


def write_texts(
    predicate: str,
    columns: Sequence[pa.Array],
    diff: NDArray[np.integer],
    stamp: Stamp | None = None,
) -> pa.Array:
    """An object for each update: constant pieces and columns, joined row by row; see `Texts`."""
    if predicate == TRIPLE:
        pieces = ['{"s":"', '","p":"', '","o":"', '","diff":']
    else:
        name = msgspec.json.encode(predicate).decode()
        quote = '"' if columns else ""
        opening = f'{{"predicate":{name},"args":[{quote}'
        pieces = [opening, *('","',) * (len(columns) - 1), f'{quote}],"diff":']
    joined: list[pa.Array | pa.Scalar] = []
    for position, piece in enumerate(pieces):
        joined.append(_text(piece))
        if position < len(columns):
            joined.append(_escaped(columns[position]))
    closing = "}"
    if stamp is not None:
        closing = f',"ts":"{timestamps.iso(stamp.ts)}","epoch":{stamp.epoch}}}'
    joined += [pa.array(diff).cast(pa.large_string()), _text(closing), _text("")]
    # The last argument of the kernel is the separator.
    return pc.binary_join_element_wise(*joined)


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _escaped(terms: pa.Array) -> pa.Array:
    """Terms escaped for JSON; canonical terms have no control characters: two escapes suffice."""
    doubled = pc.replace_substring(terms, "\\", "\\\\")
    return pc.replace_substring(doubled, '"', '\\"')
