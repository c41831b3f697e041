"""Updates as JSON objects, and facts as keys. Invariant: each is one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.io.formats.reading import timestamps
from streamreasoner.lang.ast import TRIPLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        quote = '"' if columns else ""
        opening = f'{{"predicate":{_name(predicate)},"args":[{quote}'
        pieces = [opening, *('","',) * (len(columns) - 1), f'{quote}],"diff":']
    closing = "}"
    if stamp is not None:
        closing = f',"ts":"{timestamps.iso(stamp.ts)}","epoch":{stamp.epoch}}}'
    return _joined(*_between(pieces, columns), pa.array(diff).cast(pa.large_string()), closing)


def write_keys(predicate: str, columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Facts of a predicate as arrays of texts, `["path","<a>","<b>"]`; large_string, shape (n,).

    Args:
        predicate: The predicate.
        columns: Canonical terms, a column for each argument.
        count: How many facts there are.
    """
    opening = f"[{_name(predicate)}"
    if not columns:
        return pa.array([f"{opening}]"] * count, pa.large_string())
    pieces = [f'{opening},"', *('","',) * (len(columns) - 1), '"]']
    return _joined(*_between(pieces, columns))


def _between(pieces: Sequence[str], columns: Sequence[pa.Array]) -> Iterator[pa.Array | str]:
    """Each piece, followed by the column at its place, if there is one."""
    for position, piece in enumerate(pieces):
        yield piece
        if position < len(columns):
            yield _escaped(columns[position])


def _joined(*parts: pa.Array | str) -> pa.Array:
    texts = [_text(part) if isinstance(part, str) else part for part in parts]
    # The last argument of the kernel is the separator.
    return pc.binary_join_element_wise(*texts, _text(""))


def _name(predicate: str) -> str:
    return msgspec.json.encode(predicate).decode()


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _escaped(terms: pa.Array) -> pa.Array:
    """Terms escaped for JSON; canonical terms have no control characters: two escapes suffice."""
    doubled = pc.replace_substring(terms, "\\", "\\\\")
    return pc.replace_substring(doubled, '"', '\\"')
