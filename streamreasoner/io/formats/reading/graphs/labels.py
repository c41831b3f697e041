"""Labels of blank nodes in graphs. Invariant: the same text has the same labels, in every run.

A label is kept as it is written. pyoxigraph gives a node without one, such as `[]` in Turtle, a
random label of hexadecimal digits, which is replaced here: in a message by its place in the
cluster, and in a document by a digest of the triples up to it.
"""

from __future__ import annotations

import hashlib
import io
import re
from typing import TYPE_CHECKING

from streamreasoner.rdf.triple_terms import blank_nodes, renamed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WRITTEN = re.compile(rb"""(?:_:|nodeID\s*=\s*["'])([0-9a-f]{16,})(?![\w.-])""")
"""A label that may be taken for a random one: with fewer digits none is, but one in 2^64."""
_LONGEST = 256
_RANDOM = re.compile(r"_:([0-9a-f]{16,32})")
_DIGEST_BYTES = 12


def written(text: bytes) -> set[bytes]:
    """The labels in a text that look like random ones."""
    return set(_WRITTEN.findall(text))


class WatchedStream(io.RawIOBase):
    """A stream, and the labels in what was read of it that look like random ones."""

    def __init__(self, stream: io.RawIOBase) -> None:
        self.written: set[bytes] = set()
        self._stream = stream
        self._tail = b""

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        """Read into the beginning of the buffer; returns the number of bytes, 0 at the end."""
        size = self._stream.readinto(buffer)
        text = self._tail + bytes(buffer[:size])
        self.written |= written(text)
        self._tail = text[-_LONGEST:]
        return size


class MessageLabels:
    """The labels of the nodes of a message.

    Args:
        text: The text of the message.
        place: Returns its topic, partition and offset, which few messages need.
    """

    def __init__(self, text: bytes, place: Callable[[], str]) -> None:
        self._written = written(text)
        self._place = place
        self._labels: dict[str, str] = {}

    def __call__(self, term: str) -> str:
        """A term as N-Triples writes it."""
        return renamed(term, self._label)

    def _label(self, node: str) -> str:
        if not _is_random(node, self._written):
            return node
        if node not in self._labels:
            self._labels[node] = f"_:message-{self._place()}-{len(self._labels) + 1}"
        return self._labels[node]


class DocumentLabels:
    """The labels of the nodes of a document.

    Args:
        written: The labels that the text has itself; it may grow as the text is read.
    """

    def __init__(self, written: set[bytes]) -> None:
        self._written = written
        self._labels: dict[str, str] = {}
        self._digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    def of_block(self, terms: Sequence[str]) -> list[str]:
        """The terms of the next triples, each as N-Triples writes it.

        Blocks must be of the same triples whenever a document is read: how its bytes arrive must
        not matter.
        """
        nodes = dict.fromkeys(node for term in terms for node in blank_nodes(term))
        new = [
            each for each in nodes if each not in self._labels and _is_random(each, self._written)
        ]
        first = len(self._labels)
        self._labels |= {node: f"_:{number}" for number, node in enumerate(new, first)}
        self._digest.update("\n".join(map(self._renamed, terms)).encode())
        digest = self._digest.hexdigest()
        self._labels |= {node: f"_:{digest}-{number}" for number, node in enumerate(new, first)}
        return [self._renamed(each) for each in terms]

    def _renamed(self, term: str) -> str:
        return renamed(term, lambda node: self._labels.get(node, node))


def _is_random(term: str, written: set[bytes]) -> bool:
    found = _RANDOM.fullmatch(term)
    return found is not None and found[1].encode() not in written
