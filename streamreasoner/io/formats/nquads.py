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

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.io.formats.document import Document, Source
    from streamreasoner.rdf.dictionary import Dictionary

_BATCH = 1 << 16


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Triples and quads of an N-Quads document; see `FactReader`."""
    source, bad_lines = document.source, document.bad_lines
    for block in read(source, dictionary, bad_lines=bad_lines, name=document.name):
        yield Facts(bracketed(block.shape[1]), block)


def read(
    source: Source,
    dictionary: Dictionary,
    *,
    bad_lines: list[BadLine] | None = None,
    name: str = "<input>",
) -> Iterator[NDArray[np.int32]]:
    """Triples of the default graph and quads of an N-Quads document, as blocks of ids.

    Args:
        source: Path of a file (plain, .gz or .xz), or chunks of bytes.
        dictionary: Encodes the terms; new ones are added. Bad lines add none.
        bad_lines: Collects lines that are not N-Quads; when None, the first one raises.
        name: Name of the source in errors if it is not a path.

    Yields:
        int32 of shape (n, 3): subject, predicate, object of lines without a graph; or of shape
        (n, 4): these and the graph; n > 0. Both are in the order of the lines.

    Raises:
        DataError: The file cannot be read, or a line is bad and `bad_lines` is None.
        EngineError: The dictionary is full.
    """
    stream, name = opened(source, name)
    with stream, io.BufferedReader(stream) as lines:
        yield from _blocks(_numbered(lines, name), dictionary, bad_lines, name)


def _numbered(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    with reading(name):
        yield from enumerate(lines, start=1)


def _blocks(
    lines: Iterator[tuple[int, bytes]],
    dictionary: Dictionary,
    bad_lines: list[BadLine] | None,
    name: str,
) -> Iterator[NDArray[np.int32]]:
    while batch := list(islice(lines, _BATCH)):
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
        for arity, texts in terms.items():
            if texts:
                ids = dictionary.encode(pa.array(texts, type=pa.large_string()))
                yield ids.reshape(-1, arity)
