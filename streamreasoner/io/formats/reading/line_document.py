"""Read a document of lines as rows of ids. Invariant: memory holds one chunk of text.

Files ending in `.gz` or `.xz` are decompressed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading.document import opened, reading
from streamreasoner.io.formats.reading.lines import BadLine
from streamreasoner.io.formats.reading.scan import Mistake, Scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.scan import Syntax
    from streamreasoner.rdf.dictionary import Dictionary

CHUNK_BYTES = 4 << 20


class _Readable(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...


def read_rows(
    document: Document, dictionary: Dictionary, syntax: Syntax, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[NDArray[np.int32]]:
    """Rows of a document in blocks, in the order of the lines.

    Args:
        document: The document. Bad lines add no terms.
        dictionary: Encodes the terms; new ones are added.
        syntax: The format of its lines, each of which means the same anywhere.
        chunk_bytes: Bytes of text in memory at a time; grows to fit a longer line.

    Yields:
        Columns as in `line_scanner`, int32 of shape (n, 6), n > 0; valid until the next block.

    Raises:
        DataError: The file cannot be read, or a line is bad and none are collected.
        EngineError: The dictionary is full.
    """
    stream, name = opened(document.source, document.name)

    def tell(mistake: Mistake) -> bool:
        if document.bad_lines is None:
            raise DataError(f"{name}:{mistake.line}: {mistake.reason}")
        document.bad_lines.append(BadLine(mistake.line, mistake.reason))
        return True

    scan = Scan(dictionary, syntax, tell)
    with stream:
        for lines in _whole_lines(stream, name, chunk_bytes):
            rows = scan.piece(lines)
            if len(rows):
                yield rows


def _whole_lines(stream: _Readable, name: str, chunk_bytes: int) -> Iterator[NDArray[np.uint8]]:
    """Chunks up to their last line feed; the rest joins the next chunk."""
    text = np.empty(chunk_bytes, dtype=np.uint8)
    filled = 0
    while True:
        if filled == len(text):
            text = np.concatenate([text, np.empty_like(text)])
        count = _fill(stream, text.data[filled:], name)
        if count == 0:
            break
        complete = _after_last_newline(text, filled, filled + count)
        filled += count
        if complete:
            yield text[:complete]
            rest = filled - complete
            text[:rest] = text[complete:filled].copy()
            filled = rest
    if filled:
        yield text[:filled]


def _fill(stream: _Readable, target: memoryview, name: str) -> int:
    """Read until `target` is full or the stream ends; returns the number of bytes read."""
    count = 0
    with reading(name):
        while count < len(target) and (received := stream.readinto(target[count:])):
            count += received
    return count


def _after_last_newline(text: NDArray[np.uint8], start: int, end: int) -> int:
    """Index after the last line feed in text[start:end], 0 if there is none."""
    newline = text[start:end].tobytes().rfind(b"\n")
    return 0 if newline < 0 else start + newline + 1
