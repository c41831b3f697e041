"""The messages that `produce` sends: facts of files, encoded; JSON lines as they are."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from streamreasoner.io.codec.encode import encode_updates
from streamreasoner.io.formats import nquads, ntriples
from streamreasoner.io.formats.files import SUFFIXES, Facts, load, suffix
from streamreasoner.io.formats.names import Format
from streamreasoner.lang.ast import QUAD, TRIPLE
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

_READ_BYTES = 1 << 20
_JSON = frozenset({".json", ".jsonl", ".ndjson"})


def messages_of(
    source: Path, kind: Format | None, diff: int, *, header: bool
) -> Iterator[tuple[bytes | None, bytes]]:
    """The messages of a source, as (key, value)."""
    if kind is Format.JSON or (kind is None and suffix(source) in _JSON):
        return _json_lines(source)
    return _encoded(source, kind, diff, header=header)


def _json_lines(source: Path) -> Iterator[tuple[bytes | None, bytes]]:
    with _open(source) as stream:
        for line in stream:
            if stripped := line.strip():
                yield None, stripped


def _encoded(
    source: Path, kind: Format | None, diff: int, *, header: bool
) -> Iterator[tuple[bytes | None, bytes]]:
    dictionary = Dictionary()
    for facts in _facts(source, kind, dictionary, header=header):
        columns = [dictionary.decode(column) for column in facts.args.T]
        if facts.predicate == TRIPLE:
            encoded = encode_updates(columns, diff)
            yield from zip(encoded.keys, encoded.values, strict=True)
        else:
            yield from _rows(facts.predicate, columns, diff)


def _facts(
    source: Path, kind: Format | None, dictionary: Dictionary, *, header: bool
) -> Iterator[Facts]:
    """Facts of a file by its suffix; without one, lines of N-Triples or N-Quads."""
    if kind is None and suffix(source) in SUFFIXES:
        yield from load(source, dictionary, header=header)
        return
    lines: Path | Iterator[bytes] = source
    if str(source) == "-":
        lines = iter(partial(sys.stdin.buffer.read, _READ_BYTES), b"")
    read = nquads.read if kind is Format.NQUADS else ntriples.read
    for block in read(lines, dictionary, name="standard input"):
        is_quad = block.shape[1] == nquads.QUAD_ARITY
        yield Facts(QUAD if is_quad else TRIPLE, block)


def _rows(
    predicate: str, columns: list[pa.Array], diff: int
) -> Iterator[tuple[bytes | None, bytes]]:
    for args in zip(*(column.to_pylist() for column in columns), strict=True):
        message = {"predicate": predicate, "args": args, "diff": diff}
        yield args[0].encode(), json.dumps(message, ensure_ascii=False).encode()


def _open(source: Path) -> BinaryIO:
    if str(source) == "-":
        return sys.stdin.buffer
    return ntriples.open_bytes(source)  # type: ignore[return-value]
