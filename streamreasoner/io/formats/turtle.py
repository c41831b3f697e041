"""Turtle, in documents and messages."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import pyoxigraph

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading.document import open_bytes, reading
from streamreasoner.io.formats.reading.oxigraph import parse, read_document, read_values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamreasoner.io.formats.reading.document import Document
    from streamreasoner.io.formats.reading.format import Facts, UpdateRows
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

_SYNTAX = pyoxigraph.RdfFormat.TURTLE
_PREFIX_NAME = re.compile(r"(?:[^\W\d_](?:[\w.\-]*[\w\-])?)?")


def read_facts(document: Document, dictionary: Dictionary) -> Iterator[Facts]:
    """Triples of a Turtle document; see `FactReader`."""
    return read_document(document, dictionary, _SYNTAX)


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[UpdateRows]:
    """Triples of messages, as their `diff` header says; see `MessageReader`."""
    del dictionary
    return read_values(messages, rejected, _SYNTAX)


def declared_prefixes(path: Path) -> dict[str, str]:
    """Prefixes that a file declares before its first triple; none if it cannot be read."""
    with suppress(SyntaxError, DataError), open_bytes(path) as stream, reading(str(path)):
        parser = parse(stream, _SYNTAX)
        next(parser, None)
        return {k: v for k, v in parser.prefixes.items() if _PREFIX_NAME.fullmatch(k)}
    return {}
