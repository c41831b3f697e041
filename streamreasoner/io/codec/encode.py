"""Changes -> Kafka messages. Invariant: message order and bytes depend on the changes alone.

So a replayed epoch publishes the same messages as the first attempt would have, in the same order
unless they come in blocks because they are large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.engine.blocks import Blocks
from streamreasoner.io.formats import json
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
    return [("content-type", JSON.content_types[0].encode()), ("epoch", str(epoch).encode())]


def encode_updates(columns: Sequence[pa.Array], diff: int) -> Outgoing:
    """Values and keys of updates of triples, in the input format.

    Args:
        columns: Canonical subjects, predicates and objects.
        diff: Multiplicity of each update.
    """
    return Outgoing(_bytes(columns[0]), _bytes(json.write_updates(TRIPLE, columns, diff)))


def encode_changes(changes: DecodedChanges, ts: int, epoch: int) -> Outgoing:
    """Values and keys of the changes of one predicate.

    Args:
        changes: Predicate, one column of canonical terms per argument, int8 +1/-1.
        ts: Event time of the epoch, milliseconds since 1970.
        epoch: The epoch.
    """
    predicate, columns, multiplicity = changes
    values = json.write_changes(predicate, columns, multiplicity, ts, epoch)
    return Outgoing(_bytes(columns[0]) if columns else [None] * len(values), _bytes(values))


def _bytes(texts: pa.Array) -> list[bytes]:
    encoded: list[bytes] = texts.cast(pa.large_binary()).to_pylist()
    return encoded


def _decoded(changes: Changes, dictionary: TermDictionary) -> DecodedChanges:
    """Changes of one predicate, sorted by ids, with terms for ids."""
    args = changes.args
    order = np.lexsort(tuple(args.T[::-1])) if args.shape[1] else slice(None)
    columns = [dictionary.decode(args[order, position]) for position in range(args.shape[1])]
    return changes.predicate, columns, changes.multiplicity[order]
