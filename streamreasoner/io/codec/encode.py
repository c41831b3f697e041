"""Changes -> Kafka messages. Invariant: message order and bytes depend on the changes alone.

So a replayed epoch publishes the same messages as the first attempt would have, in the same order
unless they come in blocks because they are large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.engine.blocks import Blocks
from streamreasoner.io.formats import timestamps
from streamreasoner.io.formats.registry import JSON
from streamreasoner.lang.ast import TRIPLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamreasoner.engine.updates import Changes
    from streamreasoner.rdf.dictionary import TermDictionary
    from streamreasoner.state.rows import DecodedChanges

Header = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Message:
    """A message for any topic."""

    value: bytes | None
    key: bytes | None
    headers: list[Header]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Messages of one predicate that share their headers, column by column.

    Attributes:
        keys: Canonical subject or first argument of each message; None without arguments.
        values: JSON of each message.
    """

    keys: Sequence[bytes | None]
    values: Sequence[bytes]


def decode_changes(
    changes: Iterable[Changes], dictionary: TermDictionary
) -> Iterable[DecodedChanges]:
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


def headers(epoch: int) -> list[Header]:
    """Headers of every change of an epoch."""
    return [("content-type", JSON.content_type.encode()), ("epoch", str(epoch).encode())]


def encode_updates(columns: Sequence[pa.Array], diff: int) -> Outgoing:
    """JSON values and keys of updates of triples, in the input format.

    Args:
        columns: Canonical subjects, predicates and objects.
        diff: Multiplicity of each update.
    """
    values = _values(TRIPLE, columns, pa.scalar(str(diff), pa.large_string()), "}")
    return Outgoing(_bytes(columns[0]), _bytes(values))


def encode_changes(changes: DecodedChanges, ts: int, epoch: int) -> Outgoing:
    """JSON values and keys of the changes of one predicate.

    Args:
        changes: Predicate, one column of canonical terms per argument, int8 +1/-1.
        ts: Event time of the epoch, milliseconds since 1970.
        epoch: The epoch.
    """
    predicate, columns, multiplicity = changes
    diff = pa.array(multiplicity).cast(pa.large_string())
    closing = f',"ts":"{timestamps.iso(ts)}","epoch":{epoch}}}'
    values = _values(predicate, columns, diff, closing)
    return Outgoing(_bytes(columns[0]) if columns else [None] * len(values), _bytes(values))


def _values(
    predicate: str, columns: Sequence[pa.Array], diff: pa.Array | pa.Scalar, closing: str
) -> pa.Array:
    """The JSON of all rows: constant pieces and columns, joined row by row."""
    if predicate == TRIPLE:
        pieces = ['{"s":"', '","p":"', '","o":"', '","diff":']
    else:
        name = msgspec.json.encode(predicate).decode()
        quote = '"' if columns else ""
        opening = f'{{"predicate":{name},"args":[{quote}'
        pieces = [opening, *('","',) * (len(columns) - 1), f'{quote}],"diff":']
    joined: list[pa.Array | pa.Scalar] = []
    for position, piece in enumerate(pieces):
        joined.append(pa.scalar(piece, pa.large_string()))
        if position < len(columns):
            joined.append(_json_escaped(columns[position]))
    joined += [diff, pa.scalar(closing, pa.large_string()), pa.scalar("", pa.large_string())]
    # The last argument of the kernel is the separator.
    return pc.binary_join_element_wise(*joined)


def _json_escaped(terms: pa.Array) -> pa.Array:
    """Terms escaped for JSON; canonical terms have no control characters: two escapes suffice."""
    doubled = pc.replace_substring(terms, "\\", "\\\\")
    return pc.replace_substring(doubled, '"', '\\"')


def _bytes(texts: pa.Array) -> list[bytes]:
    encoded: list[bytes] = texts.cast(pa.large_binary()).to_pylist()
    return encoded


def _decoded(changes: Changes, dictionary: TermDictionary) -> DecodedChanges:
    """Changes of one predicate, sorted by ids, with terms for ids."""
    args = changes.args
    order = np.lexsort(tuple(args.T[::-1])) if args.shape[1] else slice(None)
    columns = [dictionary.decode(args[order, position]) for position in range(args.shape[1])]
    return changes.predicate, columns, changes.multiplicity[order]
