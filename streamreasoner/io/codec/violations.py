"""Violations -> Kafka messages: changes with their text. Invariant: as for `encode`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from streamreasoner.io.codec.encode import Outgoing, encode_updates
from streamreasoner.io.formats.registry import JSON
from streamreasoner.io.formats.writing.writer import Stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.program.constraints import Constraint
    from streamreasoner.state.rows import DecodedChanges


def encode_violations(
    changes: DecodedChanges, constraints: Mapping[str, Constraint], ts: int, epoch: int
) -> Iterator[Outgoing]:
    """Messages of the violations of one constraint that came (+1) or went (-1), in JSON.

    Args:
        changes: The constraint, one column of canonical terms per argument, int8 +1/-1.
        constraints: The constraints by their names.
        ts: Event time of the epoch, milliseconds since 1970.
        epoch: The epoch.
    """
    name, columns, multiplicity = changes
    rows = zip(*(column.to_pylist() for column in columns), strict=True) if columns else [()]
    texts = [msgspec.json.encode(constraints[name].message(args)) for args in rows]
    for part in encode_updates(JSON, name, columns, multiplicity, Stamp(ts, epoch)):
        values = [
            (value or b"").removesuffix(b"}") + b',"message":%b}' % text
            for value, text in zip(part.values, texts, strict=True)
        ]
        yield Outgoing(part.keys, values, part.headers, part.updates)
