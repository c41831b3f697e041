"""Read N-Quads as blocks of ids. Invariant: memory holds one batch of lines, never the file.

Each line is parsed by the exact path, `lines`. Files ending in `.gz` or `.xz` are decompressed. A
line without a graph belongs to the default graph (RDF 1.1 N-Quads, section 2.1).
"""

from __future__ import annotations

import io
import zlib
from itertools import islice
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from streamreasoner.errors import DataError
from streamreasoner.io.formats.lines import BadLine, quads
from streamreasoner.io.formats.ntriples import ChunkStream, open_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.io.formats.ntriples import Source
    from streamreasoner.rdf.dictionary import Dictionary

TRIPLE_ARITY, QUAD_ARITY = 3, 4
_BATCH = 1 << 16


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
    if isinstance(source, str | Path):
        path = Path(source)
        with open_bytes(path) as stream, io.BufferedReader(stream) as lines:
            yield from _blocks(_numbered(lines, str(path)), dictionary, bad_lines, str(path))
    else:
        with io.BufferedReader(ChunkStream(iter(source))) as lines:
            yield from _blocks(_numbered(lines, name), dictionary, bad_lines, name)


def _numbered(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    try:
        yield from enumerate(lines, start=1)
    except (OSError, EOFError, zlib.error, LZMAError) as error:
        raise DataError(f"{name}: cannot be read ({error}).") from None


def _blocks(
    lines: Iterator[tuple[int, bytes]],
    dictionary: Dictionary,
    bad_lines: list[BadLine] | None,
    name: str,
) -> Iterator[NDArray[np.int32]]:
    while batch := list(islice(lines, _BATCH)):
        terms: dict[int, list[str]] = {TRIPLE_ARITY: [], QUAD_ARITY: []}
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
