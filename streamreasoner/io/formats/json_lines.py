"""Messages of JSON lines: each line that is not blank is an update."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from streamreasoner.io.formats.reading.format import LINE
from streamreasoner.io.formats.reading.json.kernels.messages import LINES
from streamreasoner.io.formats.reading.json.scan import read_updates
from streamreasoner.io.formats.reading.json.updates import read_part
from streamreasoner.io.formats.writing.json_texts import write_texts
from streamreasoner.io.formats.writing.writer import Writer

if TYPE_CHECKING:
    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.json.updates import Numbered
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

WRITER = Writer(write_texts, predicates=None, signed=True)


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> list[UpdateRows]:
    """Updates of messages, in the shapes of JSON messages; see `MessageReader`."""
    del dictionary
    return read_updates(messages, LINES, read_lines, LINE, rejected)


def read_lines(value: bytes) -> Numbered:
    """The updates of lines, with the numbers of these.

    Raises:
        RejectedError: A line that is not blank is not an update.
    """
    return [
        (number, read_part(LINE, number, line))
        for number, line in enumerate(value.removeprefix(BOM_UTF8).split(b"\n"), start=1)
        if line.strip()
    ]
