"""JSON-LD without remote contexts, in documents and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyoxigraph

from streamreasoner.io.formats.reading.oxigraph import read_document, read_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.format import Facts, UpdateRows
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

_SYNTAX = pyoxigraph.RdfFormat.JSON_LD


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Triples and quads of a JSON-LD document; see `FactReader`."""
    return read_document(document, dictionary, _SYNTAX)


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[UpdateRows]:
    """Triples and quads of messages, as their `diff` header says; see `MessageReader`."""
    del dictionary
    return read_values(messages, rejected, _SYNTAX)
