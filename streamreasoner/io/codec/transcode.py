"""The messages that `produce` sends: facts of files, encoded; JSON lines as they are."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from streamreasoner.errors import DataError
from streamreasoner.io.codec.encode import encode_updates
from streamreasoner.io.formats.reading.document import Document, open_bytes
from streamreasoner.io.formats.registry import (
    DOCUMENTS,
    JSON,
    JSON_LINES,
    NTRIPLES,
    of_suffix,
    read_facts,
)
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamreasoner.io.formats.reading.document import Source
    from streamreasoner.io.formats.reading.format import Format

_READ_BYTES = 1 << 20


def messages_of(
    source: Path, format_: Format | None, diff: int, *, header: bool
) -> Iterator[tuple[bytes | None, bytes]]:
    """The messages of a source, as (key, value).

    Args:
        source: A file; `-` is standard input.
        format_: Its format; by default that of its suffix, or else N-Triples.
        diff: Multiplicity of each fact.
        header: Whether CSV files begin with a header line.
    """
    format_ = format_ or of_suffix(source) or NTRIPLES
    if format_ in (JSON, JSON_LINES):
        return _json_lines(source)
    if format_ not in DOCUMENTS:
        raise DataError(
            f"{source}: files in the format {format_.name} cannot be sent; use one of "
            f"{', '.join(suffix for each in DOCUMENTS for suffix in each.suffixes)}, or .jsonl."
        )
    content: Source = source
    if str(source) == "-":
        content = iter(partial(sys.stdin.buffer.read, _READ_BYTES), b"")
    return _encoded(format_, Document(content, "standard input", header=header), diff)


def _json_lines(source: Path) -> Iterator[tuple[bytes | None, bytes]]:
    with _open(source) as stream:
        for line in stream:
            if stripped := line.strip():
                yield None, stripped


def _encoded(
    format_: Format, document: Document, diff: int
) -> Iterator[tuple[bytes | None, bytes]]:
    dictionary = Dictionary()
    for facts in read_facts(format_, document, dictionary):
        columns = [dictionary.decode(column) for column in facts.args.T]
        for sent in encode_updates(JSON, facts.predicate, columns, facts.diff * diff):
            yield from zip(sent.keys, sent.values, strict=True)


def _open(source: Path) -> BinaryIO:
    if str(source) == "-":
        return sys.stdin.buffer
    return open_bytes(source)  # type: ignore[return-value]
