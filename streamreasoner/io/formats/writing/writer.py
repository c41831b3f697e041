"""How formats write updates. Invariant: what a format writes, it reads as the same updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.lang.ast import ARITIES
from streamreasoner.rdf.texts import are_iris, are_resources, scalar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

MOST_UPDATES = 1000
"""Updates in a message, at most."""
MOST_BYTES = 900_000
"""Bytes in a message of several updates, at most: Kafka's limit is 1 MB unless it is raised."""
_SUBJECT, _PREDICATE, _GRAPH = 0, 1, 3
_SPACE = scalar(" ")


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where changes come from.

    Attributes:
        ts: Event time of the epoch, milliseconds since 1970.
        epoch: The epoch.
    """

    ts: int
    epoch: int


class Texts(Protocol):
    """Writes updates of one predicate, each as one text."""

    def __call__(
        self,
        predicate: str,
        columns: Sequence[pa.Array],
        diff: NDArray[np.integer],
        stamp: Stamp | None = None,
    ) -> pa.Array:
        """The texts, large_string of shape (n,).

        Args:
            predicate: Name of the predicate.
            columns: Canonical terms, a column for each argument.
            diff: Multiplicities other than 0, of shape (n,).
            stamp: Where they come from, if they are changes of a pipeline.

        Raises:
            DataError: The format has no such multiplicity.
        """
        ...


@dataclass(frozen=True, slots=True)
class Writer:
    """How a format writes messages.

    Attributes:
        texts: Writes updates.
        predicates: The predicates it has, of RDF only; None if it has every fact.
        signed: Whether a text has its multiplicity; if not, a message has one, as a header.
        opening: What a message begins with.
        between: What separates texts.
        closing: What a message ends with.
        most: Updates in a message, at most.
    """

    texts: Texts
    predicates: Collection[str] | None = tuple(ARITIES)
    signed: bool = False
    opening: bytes = b""
    between: bytes = b"\n"
    closing: bytes = b"\n"
    most: int = MOST_UPDATES

    def said(self, predicate: str, columns: Sequence[pa.Array], count: int) -> NDArray[np.bool_]:
        """Which facts of a predicate the format has; bool of shape (n,), n being `count`."""
        if self.predicates is not None and predicate in self.predicates:
            return np.asarray(is_rdf(columns).to_numpy(zero_copy_only=False), dtype=np.bool_)
        return np.full(count, self.predicates is None)

    def messages(self, texts: pa.Array) -> Iterator[bytes]:
        """Join texts to messages within the limits; a longer text is a message by itself.

        Args:
            texts: large_string or large_binary, of shape (n,).
        """
        if not len(texts):
            return
        texts = texts.cast(pa.large_binary())
        nothing, opening, between, closing = (
            pa.scalar(each, pa.large_binary())
            for each in (b"", self.opening, self.between, self.closing)
        )
        if self.most == 1:
            if self.opening or self.closing:
                texts = pc.binary_join_element_wise(opening, texts, closing, nothing)
            yield from texts.to_pylist()
            return
        # One text after another, each with its separator: a message is a slice of the buffer.
        joined = pc.binary_join_element_wise(texts, nothing, between)
        _, offsets, data = joined.buffers()
        ends = np.frombuffer(offsets, np.int64, len(joined) + 1, 8 * joined.offset)
        content = memoryview(data)
        room = MOST_BYTES - len(self.opening) - len(self.closing)
        start = 0
        while start < len(joined):
            fitting = int(np.searchsorted(ends, ends[start] + room, side="right")) - 1
            stop = max(start + 1, min(fitting, start + self.most))
            inner = content[ends[start] : ends[stop] - len(self.between)]
            yield b"".join((self.opening, inner, self.closing))
            start = stop

    def document(self, blocks: Iterable[Sequence[bytes]]) -> Iterator[bytes]:
        """Join texts, which come in blocks, to one document of any length; gives it in pieces."""
        yield self.opening
        any_ = False
        for texts in filter(None, blocks):
            yield (self.between if any_ else b"") + self.between.join(texts)
            any_ = True
        if any_ or self.opening:
            yield self.closing or b"\n"


def is_rdf(columns: Sequence[pa.Array]) -> pa.Array:
    """Which triples or quads have IRIs or blank nodes as subject and graph, an IRI as predicate."""
    valid = are_iris(columns[_PREDICATE])
    for column in (columns[_SUBJECT], *columns[_GRAPH:]):
        valid = pc.and_(valid, are_resources(column))
    return valid


def statements(
    predicate: str,
    columns: Sequence[pa.Array],
    diff: NDArray[np.integer],
    stamp: Stamp | None = None,
) -> pa.Array:
    """Triples and quads as lines of N-Quads, without line feeds; see `Texts`."""
    del predicate, diff, stamp
    return spaced(*columns, ".")


def spaced(*parts: pa.Array | str) -> pa.Array:
    """Texts of parts, one or more of which are columns, with a space between them."""
    texts = [scalar(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*texts, _SPACE)
