"""Avro: messages of a row each. Invariant: each names a schema of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.formats.rows.records import rows_of_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[UpdateRows]:
    """Facts of records, as their `diff` header says; see `MessageReader`."""
    del dictionary
    return rows_of_records(messages, "AVRO", rejected)
