"""Read Turtle as blocks of ids. Invariant: memory holds one batch of triples, never the file.

pyoxigraph parses the bytes; it makes no network access.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from typing import IO, TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyoxigraph

from streamreasoner.errors import DataError, TermError
from streamreasoner.io.formats.document import open_bytes, opened, reading
from streamreasoner.io.formats.format import Facts
from streamreasoner.lang.ast import ARITIES, TRIPLE
from streamreasoner.rdf.terms import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamreasoner.io.formats.document import Document
    from streamreasoner.rdf.dictionary import Dictionary

_BATCH = 1 << 16
_ARITY = ARITIES[TRIPLE]
_PREFIX_NAME = re.compile(r"(?:[^\W\d_](?:[\w.\-]*[\w\-])?)?")


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Triples of a Turtle document; see `FactReader`."""
    count = 0
    stream, name = opened(document.source, document.name)
    with stream, reading(name):
        try:
            parser = _parser(stream)
            while quads := list(islice(parser, _BATCH)):
                terms = [
                    str(term)
                    for quad in quads
                    for term in (quad.subject, quad.predicate, quad.object)
                ]
                ids = dictionary.encode_validated(pa.array(terms, type=pa.large_string()))
                bad = np.flatnonzero(ids < 0)
                if len(bad):
                    number = count + int(bad[0]) // _ARITY + 1
                    reason = _reason(terms[bad[0]])
                    raise DataError(f"{name}: triple {number} of the file is not RDF 1.1: {reason}")
                count += len(quads)
                yield Facts(TRIPLE, ids.reshape(-1, _ARITY))
        except SyntaxError as error:
            raise DataError(f"{name}:{error.lineno}: {error.msg}.") from None


def declared_prefixes(path: Path) -> dict[str, str]:
    """Prefixes that a file declares before its first triple; none if it cannot be read."""
    with suppress(SyntaxError, DataError), open_bytes(path) as stream, reading(str(path)):
        parser = _parser(stream)
        next(parser, None)
        return {k: v for k, v in parser.prefixes.items() if _PREFIX_NAME.fullmatch(k)}
    return {}


def _parser(stream: object) -> pyoxigraph.QuadParser:
    return pyoxigraph.parse(cast("IO[bytes]", stream), format=pyoxigraph.RdfFormat.TURTLE)


def _reason(text: str) -> str:
    try:
        canonical(text)
    except TermError as error:
        return str(error)
    raise AssertionError(f"{text!r} was rejected by the dictionary but is a term")
