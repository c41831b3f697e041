"""The journal of a durable session: the epoch that is being stored.

Invariant: the file is whole or not there. It has what an epoch needs to be evaluated again with the
same result: its input on ids, and the new terms in the order of their ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.engine.updates import Updates
from streamreasoner.errors import StateError
from streamreasoner.state.delta.log import RESTORE
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from streamreasoner.state.record import Offsets

NAME = "journal.arrow"
_KEY = b"streamreasoner.epoch"
_TERMS = pa.schema([("term", pa.large_string())])
_UPDATES = pa.schema(
    [
        ("predicate", pa.dictionary(pa.int32(), pa.string())),
        ("args", pa.list_(pa.int32())),
        ("multiplicity", pa.int64()),
        ("ts", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An epoch that is being stored.

    Attributes:
        epoch: Its number.
        ts: Its time, milliseconds since 1970.
        frontier: That it was applied with.
        program: The text of the program from this epoch on, if it changed.
        first: The id of the first new term.
        terms: The new terms, in the order of their ids.
        updates: The input.
        offsets: Which batches of streams it is; see `batches`.
    """

    epoch: int
    ts: int
    frontier: int
    program: str | None
    first: int
    terms: pa.LargeStringArray
    updates: Sequence[Updates]
    offsets: Offsets

    def terms_from(self, first: int) -> pa.LargeStringArray:
        """The new terms from an id on."""
        return self.terms[first - self.first :]


def write(directory: Path, entry: Entry) -> None:
    """Write the journal of a state durably, in place of the one before.

    Raises:
        OSError: It cannot be written.
    """
    sink = pa.BufferOutputStream()
    head = {
        "epoch": entry.epoch,
        "ts": entry.ts,
        "frontier": entry.frontier,
        "program": entry.program,
        "first": entry.first,
        "arities": [each.args.shape[1] for each in entry.updates],
        "offsets": entry.offsets,
    }
    schema = _TERMS.with_metadata({_KEY: json.dumps(head).encode()})
    with pa.ipc.new_stream(sink, schema) as terms:
        terms.write_batch(pa.record_batch([entry.terms], schema=schema))
    with pa.ipc.new_stream(sink, _UPDATES) as updates:
        for each in entry.updates:
            updates.write_batch(_batch(each))
    disk.write(directory / NAME, sink.getvalue())
    disk.sync(directory)


def read(directory: Path) -> Entry | None:
    """The journal of a state, None if there is none.

    Raises:
        StateError: It is damaged.
    """
    path = directory / NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        source = pa.BufferReader(data)
        terms = pa.ipc.open_stream(source)
        head = json.loads(terms.schema.metadata[_KEY])
        column = terms.read_all().column("term").combine_chunks()
        found = tuple(_updates(pa.ipc.open_stream(source), head["arities"]))
    except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise StateError(f"{path} is damaged: {error}. {RESTORE}") from None
    return Entry(
        head["epoch"],
        head["ts"],
        head["frontier"],
        head["program"],
        head["first"],
        column,
        found,
        head.get("offsets", {}),  # a journal of an earlier release has none
    )


def delete(directory: Path) -> None:
    """Delete the journal, if there is one; a power cut may bring it back."""
    (directory / NAME).unlink(missing_ok=True)


def _batch(updates: Updates) -> pa.RecordBatch:
    rows, arity = updates.args.shape
    ends = np.arange(rows + 1, dtype=np.int32) * np.int32(arity)
    names = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [updates.predicate])
    times = pa.nulls(rows, pa.int64()) if updates.times is None else pa.array(updates.times)
    args = pa.ListArray.from_arrays(ends, pa.array(updates.args.reshape(-1)))
    columns = [names, args, pa.array(updates.multiplicity), times]
    return pa.record_batch(columns, schema=_UPDATES)


def _updates(batches: pa.RecordBatchReader, arities: Sequence[int]) -> Iterator[Updates]:
    for batch, arity in zip(batches, arities, strict=True):
        names, args, multiplicity, times = batch.columns
        if len(batch) == 0:
            continue
        yield Updates(
            names[0].as_py(),
            args.flatten().to_numpy().reshape(len(batch), arity),
            multiplicity.to_numpy(),
            None if times.null_count else times.to_numpy(),
        )
