"""N-Triples, in documents and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.formats.reading.diff_header import diff_headers
from streamreasoner.io.formats.reading.document import Document
from streamreasoner.io.formats.reading.format import Facts
from streamreasoner.io.formats.reading.line_document import CHUNK_BYTES, read_rows
from streamreasoner.io.formats.reading.line_messages import read_lines
from streamreasoner.io.formats.reading.scan import NTriples
from streamreasoner.io.formats.writing.writer import Writer, statements
from streamreasoner.lang.ast import ARITIES, TRIPLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.document import Source
    from streamreasoner.io.formats.reading.format import EncodedUpdates
    from streamreasoner.io.formats.reading.lines import BadLine
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

WRITER = Writer(statements, (TRIPLE,))
_ARITY = ARITIES[TRIPLE]


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Triples of an N-Triples document; see `FactReader`."""
    source, bad_lines = document.source, document.bad_lines
    for block in read(source, dictionary, bad_lines=bad_lines, name=document.name):
        yield Facts(TRIPLE, block)


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[EncodedUpdates]:
    """Triples of messages, with the multiplicity of their `diff` header; see `MessageReader`."""
    diff = diff_headers(messages, rejected)
    return read_lines(messages, dictionary, rejected, NTriples(), diff)


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
    document = Document(source, name, bad_lines)
    for rows in read_rows(document, dictionary, NTriples(), chunk_bytes):
        yield rows[:, :_ARITY].copy()
