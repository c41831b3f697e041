"""The messages that `produce` sends. Invariant: they say what the source says, or it is refused.

Facts of documents are encoded. Lines of JSON are sent as they are, or read and encoded.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from streamreasoner.errors import DataError
from streamreasoner.io.codec.decode import NO_LIMITS, Codec
from streamreasoner.io.codec.encode import Message, encode_updates
from streamreasoner.io.files.documents import Reading, documents, is_container
from streamreasoner.io.formats.reading.document import open_bytes
from streamreasoner.io.formats.registry import (
    JSON,
    JSON_LINES,
    NTRIPLES,
    message_writer,
    of_suffix,
    read_facts,
)
from streamreasoner.io.formats.writing.writer import MOST_UPDATES
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.format import Format

# A time that no update has: it stands for that of a message which is not sent yet.
_NOT_SENT = -62_135_596_799_999


@dataclass(frozen=True, slots=True)
class Sending:
    """How sources become messages.

    Attributes:
        format: The format of the messages.
        read_as: The format of the sources; None for that of their suffixes, or else N-Triples.
        diff: Multiplicity of each fact; of a patch, of each addition, and a deletion its negative.
        header: Whether CSV files begin with a header line.
        base: What relative IRIs are resolved against; None for the address of each file.
        as_rows: Whether lines of JSON are rows, each a message that does not say its format.
    """

    format: Format = JSON
    read_as: Format | None = None
    diff: int = 1
    header: bool = False
    base: str | None = None
    as_rows: bool = False


def messages_of(source: Path, sending: Sending) -> Iterator[Message]:
    """The messages of a source, a file or `-` for standard input.

    Raises:
        DataError: It cannot be read, or has something that the format of the messages has not.
    """
    if (sending.read_as or of_suffix(source)) in {JSON, JSON_LINES}:
        yield from _of_updates(source, sending)
        return
    read_as = sending.read_as
    if not is_container(source) and of_suffix(source) is None:
        read_as = read_as or NTRIPLES
    for format_, document in documents(source, Reading(read_as, sending.header, sending.base)):
        dictionary = Dictionary()
        for facts in read_facts(format_, document, dictionary):
            columns = [dictionary.decode(column) for column in facts.args.T]
            diff = facts.diff * sending.diff
            yield from _encoded(sending.format, facts.predicate, columns, diff, source)


def under_key(key: bytes, messages: Iterable[Message]) -> Message:
    """The one message that there is, with a key; without a value if there is none.

    Raises:
        DataError: There are several, of which the last would replace those before.
    """
    found = list(islice(messages, 2))
    if len(found) > 1:
        raise DataError(
            f"--key {key.decode()}: the facts are in several messages, of which a topic with the"
            " semantics upsert keeps the last. Use --format nquads or json-lines, and at most"
            f" {MOST_UPDATES} facts of one predicate and multiplicity."
        )
    return Message(found[0].value, key, found[0].headers) if found else Message(None, key, [])


def _of_updates(source: Path, sending: Sending) -> Iterator[Message]:
    """Messages of lines of JSON, which have multiplicities of their own."""
    if sending.diff != 1:
        raise DataError(f"{source}: the updates of JSON lines have a diff each; omit --diff.")
    format_ = sending.format
    headers = [("content-type", format_.content_types[0].encode())]
    with _open(source) as stream:
        stripped = enumerate(map(bytes.strip, stream), start=1)
        lines = ((number, line) for number, line in stripped if line)
        while block := list(islice(lines, MOST_UPDATES)):
            if sending.as_rows:
                yield from (Message(line, None, []) for _, line in block)
            elif format_ in {JSON, JSON_LINES}:
                texts = pa.array([line for _, line in block], pa.large_binary())
                for value in message_writer(format_).messages(texts):
                    yield Message(value, None, headers)
            else:
                yield from _transcoded(format_, block, source)


def _transcoded(
    format_: Format, block: Sequence[tuple[int, bytes]], source: Path
) -> Iterator[Message]:
    """Messages of the updates in numbered lines of JSON."""
    dictionary = Dictionary()
    values = pa.array([line for _, line in block], pa.binary())
    times = pa.array([_NOT_SENT] * len(block), pa.timestamp("ms", "UTC"))
    batch = pa.table({"value": values, "timestamp": times, "headers": pa.nulls(len(block))})
    decoded = Codec(dictionary, None, NO_LIMITS).decode(batch)
    for rejected in decoded.rejected:
        raise DataError(f"{source}:{block[rejected.row][0]}: {rejected.detail}")
    if any((each.times != _NOT_SENT).any() for each in decoded.updates if each.times is not None):
        raise DataError(
            f"{source}: an update has a ts, but messages in {format_.name} have none. Send them in"
            " json or json-lines."
        )
    for updates in decoded.updates:
        columns = [dictionary.decode(column) for column in updates.args.T]
        yield from _encoded(format_, updates.predicate, columns, updates.multiplicity, source)


def _encoded(
    format_: Format,
    predicate: str,
    columns: Sequence[pa.Array],
    diff: NDArray[np.int64],
    source: Path,
) -> Iterator[Message]:
    check_said(format_, predicate, columns, len(diff), str(source))
    for sent in encode_updates(format_, predicate, columns, diff):
        for key, value in zip(sent.keys, sent.values, strict=True):
            yield Message(value, key, sent.headers)


def check_said(
    format_: Format, predicate: str, columns: Sequence[pa.Array], count: int, where: str
) -> None:
    """Check that a format has facts of a predicate.

    Raises:
        DataError: It lacks one of them.
    """
    writer = message_writer(format_)
    said = writer.said(predicate, columns, count)
    if not said.all():
        number = int(said.argmin())
        terms = ", ".join(column[number].as_py() for column in columns)
        known = "s and ".join(writer.predicates or ())
        raise DataError(
            f"{where}: {predicate}({terms[:200]}) cannot be written in {format_.name}, which has"
            f" {known}s of RDF only. Use json or json-lines."
        )


def _open(source: Path) -> BinaryIO:
    if str(source) == "-":
        return sys.stdin.buffer
    return open_bytes(source)  # type: ignore[return-value]
