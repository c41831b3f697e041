"""Updates -> Kafka messages. Invariant: what a format cannot say is a message in JSON.

Order and bytes of messages depend on the changes and the number of partitions alone. So a replayed
epoch publishes the same messages as the first attempt would have, in the same order unless they
come in blocks because they are large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.engine.blocks import Blocks
from streamreasoner.io.codec.envelope import TIME_HEADER
from streamreasoner.io.codec.partitions import partitions_of
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.reading.diff_header import DIFF_HEADER
from streamreasoner.io.formats.registry import JSON, message_writer
from streamreasoner.io.formats.writing.json_texts import write_keys
from streamreasoner.io.formats.writing.writer import Stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.updates import Changes
    from streamreasoner.io.formats.reading.format import Format
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.state.rows import DecodedChanges

Header = tuple[str, bytes]
ANY_PARTITION = -1
"""The partition of a message that goes where its key says, or anywhere without one."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message for any topic."""

    value: bytes | None
    key: bytes | None
    headers: list[Header]


@dataclass(frozen=True, slots=True)
class Received(Message):
    """A message of a topic, with its place.

    Attributes:
        topic: The topic.
        partition: The partition.
        offset: The offset.
        timestamp: Kafka's, milliseconds since 1970.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int

    @property
    def place(self) -> str:
        """Where it is, as texts for people name it."""
        return f"{self.topic}/{self.partition}/{self.offset}"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Messages of one predicate that share their headers, column by column.

    Attributes:
        keys: Canonical subject or first argument of each message of one update, or its whole fact
            where the topic holds facts; else None.
        values: The value of each message, None for a fact that goes.
        headers: Headers of all.
        updates: How many updates they hold together.
        partition: Where they go, or `ANY_PARTITION`.
    """

    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: list[Header]
    updates: int
    partition: int = ANY_PARTITION


@dataclass(frozen=True, slots=True)
class ChangeEncoder:
    """Writes the changes of epochs.

    Attributes:
        format: The format of messages.
        partitions: How many partitions the output topic has.
        holds: Which facts the topic holds, if a message is the state of a fact; None if it is a
            change of one.
    """

    format: Format = JSON
    partitions: int = 1
    holds: str | None = None

    @property
    def layout(self) -> int | None:
        """Over how many partitions facts are, None if the topic holds changes."""
        return None if self.holds is None else self.partitions

    def encode(self, changes: DecodedChanges, ts: int, epoch: int) -> Iterator[Outgoing]:
        """Messages of the changes of one predicate.

        Args:
            changes: Predicate, one column of canonical terms per argument, int8 +1/-1.
            ts: Event time of the epoch, milliseconds since 1970.
            epoch: The epoch.
        """
        predicate, columns, diff = changes
        stamp = Stamp(ts, epoch)
        said = message_writer(self.format).said(predicate, columns, len(diff))
        for format_, chosen in ((self.format, said), (JSON, ~said)):
            if chosen.all():
                yield from self._encoded(format_, predicate, columns, diff, stamp)
            elif chosen.any():
                mask = pa.array(chosen)
                some = [column.filter(mask) for column in columns]
                yield from self._encoded(format_, predicate, some, diff[chosen], stamp)

    def _encoded(
        self,
        format_: Format,
        predicate: str,
        columns: Sequence[pa.Array],
        diff: NDArray[np.int8],
        stamp: Stamp,
    ) -> Iterator[Outgoing]:
        if self.holds is not None:
            keys, encode = write_keys(predicate, columns, len(diff)), encode_facts
        elif message_writer(format_).most == 1:
            yield from encode_updates(format_, predicate, columns, diff, stamp)
            return
        else:
            keys, encode = columns[0], encode_updates
        if self.partitions == 1:
            yield from encode(format_, predicate, columns, diff, stamp, 0)
            return
        # All changes of a key stay in one partition: readers see them in order. That of a message
        # with a key is chosen here too, so it stays the same if partitions are added.
        partitions = partitions_of(keys, self.partitions)
        order = np.argsort(partitions, kind="stable")
        columns = [column.take(pa.array(order)) for column in columns]
        diff = diff[order]
        found, starts = np.unique(partitions[order], return_index=True)
        for partition, start, end in zip(found, starts, [*starts[1:], len(order)], strict=True):
            some = [column[start:end] for column in columns]
            yield from encode(format_, predicate, some, diff[start:end], stamp, int(partition))


def encode_updates(  # noqa: PLR0917 - in the order of use
    format_: Format,
    predicate: str,
    columns: Sequence[pa.Array],
    diff: NDArray[np.integer],
    stamp: Stamp | None = None,
    partition: int = ANY_PARTITION,
) -> Iterator[Outgoing]:
    """Messages of updates of one predicate, all of which the format can say.

    Args:
        format_: The format of the messages.
        predicate: The predicate.
        columns: Canonical terms, a column for each argument.
        diff: Multiplicities other than 0, of shape (n,).
        stamp: Where they come from, if they are changes.
        partition: Where the messages go.

    Raises:
        DataError: The format has no such multiplicity.
    """
    writer = message_writer(format_)
    texts = writer.texts(predicate, columns, diff, stamp)
    if writer.most == 1:
        keys = _bytes(columns[0]) if columns else [None] * len(texts)
        headers = _headers(format_, stamp, None)
        yield Outgoing(keys, [*writer.messages(texts)], headers, len(texts), partition)
        return
    for sign in [None] if writer.signed else np.unique(diff).tolist():
        some = texts if sign is None else texts.filter(pa.array(diff == sign))
        values = [*writer.messages(some)]
        headers = _headers(format_, stamp, sign)
        yield Outgoing([None] * len(values), values, headers, len(some), partition)


def encode_facts(  # noqa: PLR0917 - in the order of use
    format_: Format,
    predicate: str,
    columns: Sequence[pa.Array],
    diff: NDArray[np.integer],
    stamp: Stamp,
    partition: int,
) -> Iterator[Outgoing]:
    """Messages of facts of one predicate that come (+1) or go (-1), under their keys.

    A fact that comes is an addition, and one that goes is a message without a value.

    Args:
        format_: The format of the messages, which can say all the facts.
        predicate: The predicate.
        columns: Canonical terms, a column for each argument.
        diff: +1 or -1, of shape (n,).
        stamp: Where the changes come from.
        partition: Where the messages go.
    """
    alone = replace(message_writer(format_), most=1)
    keys = write_keys(predicate, columns, len(diff))
    gone = _bytes(keys.filter(pa.array(diff < 0)))
    if gone:
        nothing = [None] * len(gone)
        yield Outgoing(gone, nothing, _headers(format_, stamp, None), len(gone), partition)
    come = pa.array(diff > 0)
    some = [column.filter(come) for column in columns]
    texts = alone.texts(predicate, some, diff[diff > 0], stamp)
    if len(texts):
        headers = _headers(format_, stamp, None if alone.signed else 1)
        values = [*alone.messages(texts)]
        yield Outgoing(_bytes(keys.filter(come)), values, headers, len(values), partition)


def decode_changes(changes: Iterable[Changes], dictionary: Dictionary) -> Iterable[DecodedChanges]:
    """Changes with terms for ids, sorted by predicate and ids; the engine returns them unordered.

    Returns:
        Predicate, one column per argument, +1/-1; in blocks if *changes* are in blocks.
    """
    if isinstance(changes, Blocks):
        return Blocks(lambda: (_decoded(block, dictionary) for block in changes))
    return [
        _decoded(block, dictionary)
        for block in sorted(changes, key=lambda block: block.predicate)
        if len(block.multiplicity)
    ]


def in_text_order(changes: Iterable[DecodedChanges]) -> list[DecodedChanges]:
    """The same changes, sorted by predicate and terms, so that their order does not depend on ids.

    Returns:
        One item for each predicate.
    """
    by_predicate: dict[str, list[pa.Table]] = {}
    for predicate, columns, diff in changes:
        names = [*map(str, range(len(columns))), "diff"]
        rows = pa.Table.from_arrays([*columns, pa.array(diff)], names=names)
        by_predicate.setdefault(predicate, []).append(rows)
    found: list[DecodedChanges] = []
    for predicate, parts in sorted(by_predicate.items()):
        rows = pa.concat_tables(parts)
        names = rows.column_names[:-1]
        if names:
            rows = rows.sort_by([(name, "ascending") for name in names])
        columns = [rows[name].combine_chunks() for name in names]
        found.append((predicate, columns, rows["diff"].to_numpy()))
    return found


def _headers(format_: Format, stamp: Stamp | None, diff: int | None) -> list[Header]:
    """What the values of messages do not say."""
    headers = [("content-type", format_.content_types[0].encode())]
    if stamp is not None:
        headers.append(("epoch", str(stamp.epoch).encode()))
        if format_ is not JSON:
            headers.append((TIME_HEADER, timestamps.iso(stamp.ts).encode()))
    if diff is not None:
        headers.append((DIFF_HEADER, str(diff).encode()))
    return headers


def _bytes(texts: pa.Array) -> list[bytes]:
    encoded: list[bytes] = texts.cast(pa.large_binary()).to_pylist()
    return encoded


def _decoded(changes: Changes, dictionary: Dictionary) -> DecodedChanges:
    """Changes of one predicate, sorted by ids, with terms for ids."""
    args = changes.args
    order = np.lexsort(tuple(args.T[::-1])) if args.shape[1] else slice(None)
    columns = [dictionary.decode(args[order, position]) for position in range(args.shape[1])]
    return changes.predicate, columns, changes.multiplicity[order]
