"""Facts as documents of graphs: Turtle, TriG and JSON-LD. Invariant: equal facts, equal bytes."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, cast

import pyoxigraph

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading.document import ChunkStream
from streamreasoner.rdf.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import BinaryIO

_LOCAL = re.compile(r"[\w.-]*")


def write_graph(
    lines: Iterable[bytes],
    syntax: pyoxigraph.RdfFormat,
    prefixes: Mapping[str, str],
    stream: BinaryIO,
    *,
    has_new_terms: bool,
) -> None:
    """Write statements as one document.

    Args:
        lines: Lines of N-Quads in the order of the document.
        syntax: Its format.
        prefixes: Prefix name to IRI, for Turtle and TriG.
        stream: Gets the text.
        has_new_terms: Whether a term is one of RDF 1.2 only, which Turtle and TriG announce.

    Raises:
        DataError: A fact has a label of a blank node, or a term, that the format does not have.
    """
    quads: Iterable[pyoxigraph.Quad] = pyoxigraph.parse(
        cast("IO[bytes]", ChunkStream(iter(lines))), format=pyoxigraph.RdfFormat.N_QUADS
    )
    has_prefixes = syntax != pyoxigraph.RdfFormat.JSON_LD
    kept = _unambiguous(prefixes) if has_prefixes else {}
    if has_prefixes and has_new_terms:
        stream.write(VERSION.encode())
    if syntax == pyoxigraph.RdfFormat.JSON_LD:
        quads = map(_in_json_ld, quads)
    statements = quads if syntax.supports_datasets else (quad.triple for quad in quads)
    try:
        pyoxigraph.serialize(
            cast("Iterable[pyoxigraph.Quad]", statements),
            cast("IO[bytes]", _SortedHead(stream, len(kept))),
            syntax,
            prefixes=kept,
        )
    except SyntaxError as error:
        raise DataError(f"A fact cannot be written in {syntax.name}: {error.msg}.") from None


def _in_json_ld(quad: pyoxigraph.Quad) -> pyoxigraph.Quad:
    if isinstance(quad.object, pyoxigraph.Triple):
        raise DataError(
            f"JSON-LD 1.1 has no triple terms, such as the object of {quad.triple}; write Turtle,"
            " TriG or N-Quads."
        )
    return quad


def _unambiguous(prefixes: Mapping[str, str]) -> dict[str, str]:
    """Prefixes of which at most one abbreviates an IRI: pyoxigraph takes any that does."""
    kept: dict[str, str] = {}
    for name, iri in sorted(prefixes.items(), key=lambda item: (len(item[1]), item)):
        starts = (iri[len(each) :] for each in kept.values() if iri.startswith(each))
        if not any(map(_LOCAL.fullmatch, starts)):
            kept[name] = iri
    return kept


class _SortedHead:
    """A stream whose first lines are sorted: pyoxigraph writes prefixes in no order.

    Args:
        stream: Gets the text.
        count: How many lines these are.
    """

    def __init__(self, stream: BinaryIO, count: int) -> None:
        self._stream, self._count = stream, count
        self._head = b""

    def write(self, data: bytes) -> int:
        """Write, or keep until all of these lines are there."""
        if not self._count:
            return self._stream.write(data)
        self._head += data
        *lines, rest = self._head.split(b"\n", self._count)
        if len(lines) == self._count:
            self._stream.write(b"\n".join([*sorted(lines), rest]))
            self._count, self._head = 0, b""
        return len(data)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()
