"""N-Quads, in documents and messages.

A line without a graph belongs to the default graph (RDF 1.1 N-Quads, section 2.1), whose triples
are facts of `triple`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.formats.reading.diff_header import diff_headers
from streamreasoner.io.formats.reading.format import Facts
from streamreasoner.io.formats.reading.line_document import read_rows
from streamreasoner.io.formats.reading.line_messages import read_lines
from streamreasoner.io.formats.reading.scan import NQuads, by_graph
from streamreasoner.io.formats.writing.writer import Writer, statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.format import EncodedUpdates
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Triples of the default graph and quads of an N-Quads document; see `FactReader`."""
    for rows in read_rows(document, dictionary, NQuads()):
        for predicate, arity, chosen in by_graph(rows):
            yield Facts(predicate, rows[chosen, :arity])


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[EncodedUpdates]:
    """Triples and quads of messages, as their `diff` header says; see `MessageReader`."""
    diff = diff_headers(messages, rejected)
    return read_lines(messages, dictionary, rejected, NQuads(), diff)


WRITER = Writer(statements)
