"""Read N-Quads as blocks of ids. Invariant: memory holds one batch of lines, never the file.

Each line is parsed by the exact path, `lines`. Files ending in `.gz` or `.xz` are decompressed. A
line without a graph belongs to the default graph (RDF 1.1 N-Quads, section 2.1).
"""

from __future__ import annotations

import io
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from streamreasoner.errors import DataError
from streamreasoner.io.formats.document import opened, reading
from streamreasoner.io.formats.format import Facts
from streamreasoner.io.formats.lines import BadLine, quads
from streamreasoner.lang.ast import ARITIES, bracketed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamreasoner.io.formats.document import Document
    from streamreasoner.rdf.dictionary import Dictionary

_BATCH = 1 << 16


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Triples of the default graph and quads of an N-Quads document; see `FactReader`.

    Bad lines add no terms.
    """
    stream, name = opened(document.source, document.name)
    with stream, io.BufferedReader(stream) as lines:
        numbered = _numbered(lines, name)
        while batch := list(islice(numbered, _BATCH)):
            for arity, texts in _terms(batch, document.bad_lines, name).items():
                if texts:
                    ids = dictionary.encode(pa.array(texts, type=pa.large_string()))
                    yield Facts(bracketed(arity), ids.reshape(-1, arity))


def _numbered(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    with reading(name):
        yield from enumerate(lines, start=1)


def _terms(
    batch: list[tuple[int, bytes]], bad_lines: list[BadLine] | None, name: str
) -> dict[int, list[str]]:
    """The terms of triples and of quads, by their number in a line."""
    terms: dict[int, list[str]] = {arity: [] for arity in ARITIES.values()}
    for number, line in batch:
        try:
            parsed = quads(line.removesuffix(b"\n"))
        except DataError as error:
            if bad_lines is None:
                raise DataError(f"{name}:{number}: {error}") from None
            bad_lines.append(BadLine(number, str(error)))
            continue
        for terms_of_line in parsed:
            terms[len(terms_of_line)].extend(terms_of_line)
    return terms
