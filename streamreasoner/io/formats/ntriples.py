"""Read N-Triples as blocks of ids. Invariant: memory holds one chunk of text, never the file.

Files ending in `.gz` or `.xz` are decompressed. A compiled scanner reads the lines; those it cannot
encode (numeric escapes, comments, upper-case language tags, errors) go one by one, in order, to the
exact path, `lines`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from streamreasoner.errors import DataError
from streamreasoner.io.formats.document import opened, reading
from streamreasoner.io.formats.format import Facts
from streamreasoner.io.formats.lines import BadLine, triples
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.rdf.kernels import hash_table, line_scanner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from streamreasoner.io.formats.document import Document, Source
    from streamreasoner.rdf.dictionary import Dictionary

CHUNK_BYTES = 4 << 20
# The shortest line is `_:a<b:>"".` and a line feed.
_SHORTEST_LINE = 11


class _Readable(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Triples of an N-Triples document; see `FactReader`."""
    source, bad_lines = document.source, document.bad_lines
    for block in read(source, dictionary, bad_lines=bad_lines, name=document.name):
        yield Facts(TRIPLE, block)


def read(
    source: Source,
    dictionary: Dictionary,
    *,
    bad_lines: list[BadLine] | None = None,
    name: str = "<input>",
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[NDArray[np.int32]]:
    """Triples of an N-Triples document as blocks of ids, in the order of the lines.

    Args:
        source: Path of a file (plain, .gz or .xz), or chunks of bytes.
        dictionary: Encodes the terms; new ones are added. Bad lines add none.
        bad_lines: Collects lines that are not N-Triples; when None, the first one raises.
        name: Name of the source in errors if it is not a path.
        chunk_bytes: Bytes of text in memory at a time; grows to fit a longer line.

    Yields:
        int32 of shape (n, 3): subject, predicate, object; n > 0.

    Raises:
        DataError: The file cannot be read, or a line is bad and `bad_lines` is None.
        EngineError: The dictionary is full.
    """
    stream, name = opened(source, name)
    with stream:
        yield from _blocks(stream, dictionary, bad_lines, name, chunk_bytes)


def _blocks(
    stream: _Readable,
    dictionary: Dictionary,
    bad_lines: list[BadLine] | None,
    name: str,
    chunk_bytes: int,
) -> Iterator[NDArray[np.int32]]:
    """Read chunks, and scan each up to its last line feed; the rest joins the next chunk."""
    text = np.empty(chunk_bytes + 1, dtype=np.uint8)
    out = np.empty((len(text) // _SHORTEST_LINE + 1, 3), dtype=np.int32)
    lines = 0
    filled = 0
    ended = False
    while not ended:
        if filled >= len(text) - 1:
            text = np.concatenate([text, np.empty_like(text)])
            out = np.empty((len(text) // _SHORTEST_LINE + 1, 3), dtype=np.int32)
        # One byte is reserved for a line feed, which the last line of a document may lack.
        count = _fill(stream, text.data[filled:-1], name)
        ended = count == 0
        if ended and filled:
            text[filled] = line_scanner.NEWLINE
            count = 1
        complete = _after_last_newline(text, filled, filled + count)
        filled += count
        if complete == 0:
            continue
        block, lines = _scan(text[:complete], out, dictionary, bad_lines, name, lines)
        if len(block):
            yield block
        rest = filled - complete
        text[:rest] = text[complete:filled].copy()
        filled = rest


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


def _scan(  # noqa: PLR0917  (the state of one read)
    text: NDArray[np.uint8],
    out: NDArray[np.int32],
    dictionary: Dictionary,
    bad_lines: list[BadLine] | None,
    name: str,
    lines: int,
) -> tuple[NDArray[np.int32], int]:
    """Ids of the triples in complete lines, and the number of lines read so far."""
    cursor = np.array([0, 0, lines], dtype=np.int64)
    address = text.ctypes.data
    while True:
        status = line_scanner.scan(dictionary.header, cursor, address, len(text), out)
        if status == line_scanner.DONE:
            return out[: cursor[line_scanner.ROWS]].copy(), int(cursor[line_scanner.LINES])
        if status == hash_table.FULL:
            dictionary.grow()
            continue
        start = int(cursor[line_scanner.OFFSET])
        line = text[start : start + _line_length(text, start)].tobytes()
        cursor[line_scanner.OFFSET] += len(line) + 1
        cursor[line_scanner.LINES] += 1
        try:
            parsed = triples(line)
        except DataError as error:
            if bad_lines is None:
                raise DataError(f"{name}:{cursor[line_scanner.LINES]}: {error}") from None
            bad_lines.append(BadLine(int(cursor[line_scanner.LINES]), str(error)))
            continue
        for triple in parsed:
            out[cursor[line_scanner.ROWS]] = [dictionary.intern(term) for term in triple]
            cursor[line_scanner.ROWS] += 1


def _line_length(text: NDArray[np.uint8], start: int) -> int:
    width = 256
    while True:
        newline = text[start : start + width].tobytes().find(b"\n")
        if newline >= 0:
            return newline
        width *= 4
