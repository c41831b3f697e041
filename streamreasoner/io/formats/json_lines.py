"""Messages of JSON lines: each line that is not blank is an update."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from streamreasoner.io.formats.reading.format import LINE
from streamreasoner.io.formats.reading.json_updates import TripleMessage, grouped, read_part
from streamreasoner.io.formats.writing.json_texts import write_texts
from streamreasoner.io.formats.writing.writer import Writer

if TYPE_CHECKING:
    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.json_updates import Numbered
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

WRITER = Writer(write_texts, predicates=None, signed=True)
_decode_lines = msgspec.json.Decoder(TripleMessage).decode_lines


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> list[UpdateRows]:
    """Updates of messages, in the shapes of JSON messages; see `MessageReader`."""
    del dictionary
    return grouped(messages, messages.values(), _read_lines, LINE, rejected)


def _read_lines(value: bytes) -> Numbered:
    lines = value.split(b"\n")
    with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        triples = _decode_lines(value)
        # Blank lines have no update, but a number.
        if len(triples) == len(lines) - (not lines[-1].strip()):
            return enumerate(triples, start=1)
    return [
        (number, read_part(LINE, number, line))
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
