"""Messages of any format as lines of one. Invariant: a line has the sign of its update."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.errors import DataError
from streamreasoner.io.codec.decode import Codec
from streamreasoner.io.codec.from_files import check_said
from streamreasoner.io.formats.json import fact_of_key, write_fact
from streamreasoner.io.formats.registry import JSON, message_writer
from streamreasoner.io.formats.writing.writer import Stamp
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from streamreasoner.io.codec.decode import InputOptions
    from streamreasoner.io.codec.encode import Received
    from streamreasoner.io.formats.reading.format import Format
    from streamreasoner.io.formats.rejected import Rejected

_MOST_TERMS = 1_000_000
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class Lines:
    """Writes the updates of messages in one format.

    Args:
        format_: The format.
        options: What messages are.
    """

    def __init__(self, format_: Format, options: InputOptions) -> None:
        self._format = format_
        self._options = options
        self._dictionary = Dictionary()

    def of(
        self, messages: Sequence[Received], report: Callable[[Received, Rejected], None]
    ) -> Iterator[bytes]:
        """The updates of messages, in their order; those of a message by predicate.

        Args:
            messages: The messages.
            report: Called with each message that has no updates, and the reason.

        Raises:
            DataError: An update cannot be said in this format; those before it are given.
        """
        # Messages of one format and epoch are decoded together, which is much faster.
        for _, same in groupby(map(_explicit, messages), key=lambda message: message.headers):
            yield from self._of([*same], report)

    def _of(
        self, messages: Sequence[Received], report: Callable[[Received, Rejected], None]
    ) -> Iterator[bytes]:
        try:
            written, rejected = self._written(messages)
        except DataError:
            if len(messages) == 1:
                raise
            for message in messages:
                yield from self._of([message], report)
            return
        for rejection in rejected:
            report(messages[rejection.row], rejection)
        yield from written

    def _written(self, messages: Sequence[Received]) -> tuple[list[bytes], tuple[Rejected, ...]]:
        if len(self._dictionary) > _MOST_TERMS:
            self._dictionary = Dictionary()
        decoded = Codec(self._dictionary, None, self._options).decode(messages_table(messages))
        epoch = dict(messages[0].headers).get("epoch") or b""
        stamp = Stamp(decoded.event_time or 0, int(epoch)) if epoch.isdigit() else None
        writer, where = message_writer(self._format), messages[0].place
        lines: list[bytes] = []
        for updates in decoded.updates:
            columns = [self._dictionary.decode(column) for column in updates.args.T]
            diff = updates.multiplicity
            check_said(self._format, updates.predicate, columns, len(diff), where)
            if not writer.signed and (diff != 1).any():
                raise DataError(
                    f"{where}: an update has the multiplicity {diff[diff != 1][0]}, but lines of"
                    f" {self._format.name} have none. Use rdf-patch, json or json-lines."
                )
            texts = writer.texts(updates.predicate, columns, diff, stamp)
            lines += texts.cast(pa.large_binary()).to_pylist()
        # As the messages have them, not by predicate.
        places = [each.order for each in decoded.updates if each.order is not None]
        order = np.argsort(np.concatenate([np.empty(0, np.int64), *places]), kind="stable")
        ordered = pa.array([lines[index] for index in order], pa.large_binary())
        return [value.removesuffix(b"\n") for value in writer.messages(ordered)], decoded.rejected


def _explicit(message: Received) -> Received:
    """A tombstone of a pipeline as the retraction of its key's fact; other messages as they are."""
    is_tombstone = message.value is None and "epoch" in dict(message.headers)
    if not is_tombstone or (fact := fact_of_key(message.key or b"")) is None:
        return message
    headers = [(name, value) for name, value in message.headers if name != "content-type"]
    return replace(
        message,
        value=write_fact(*fact, -1).encode(),
        headers=[("content-type", JSON.content_types[0].encode()), *headers],
    )


def messages_table(messages: Sequence[Received]) -> pa.Table:
    """Messages in the columns that the codec reads."""
    headers = [
        [{"key": name, "value": value} for name, value in message.headers] for message in messages
    ]
    return pa.table(
        {
            "topic": [message.topic for message in messages],
            "partition": [message.partition for message in messages],
            "offset": [message.offset for message in messages],
            "value": pa.array([message.value for message in messages], pa.binary()),
            "timestamp": pa.array(
                [message.timestamp for message in messages], pa.timestamp("ms", "UTC")
            ),
            "headers": pa.array(headers, _HEADERS),
        }
    )
