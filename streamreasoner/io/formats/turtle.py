"""Turtle, in documents and messages."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, cast

import pyoxigraph

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading.document import open_bytes, reading
from streamreasoner.io.formats.reading.oxigraph import parse, read_document, read_values
from streamreasoner.lang.printer import PREFIX_NAME

if TYPE_CHECKING:
    from io import RawIOBase
    from pathlib import Path

_SYNTAX = pyoxigraph.RdfFormat.TURTLE

read_facts = partial(read_document, syntax=_SYNTAX)
read_messages = partial(read_values, syntax=_SYNTAX)


def declared_prefixes(path: Path) -> dict[str, str]:
    """Prefixes that a file declares before its first triple; none if it cannot be read."""
    with suppress(SyntaxError, DataError), open_bytes(path) as stream, reading(str(path)):
        parser = parse(cast("RawIOBase", stream), _SYNTAX)
        next(parser, None)
        return {k: v for k, v in parser.prefixes.items() if PREFIX_NAME.fullmatch(k)}
    return {}
