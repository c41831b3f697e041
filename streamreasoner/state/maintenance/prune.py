"""Deletion of old rows of `changes` and `waiting`. Invariant: what is still asked for stays.

Epochs of `changes` are deleted as a whole, from the oldest on, as long as their time is old enough:
one of an epoch that is not old enough keeps all later ones. The commit that removes their files,
and adds what remains of files that hold other epochs too, records up to where: it is durable or has
not happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.state import schemas
from streamreasoner.state.delta import datafile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from streamreasoner.state.delta.datafile import DataFile
    from streamreasoner.state.delta.table import Table


def prune(changes: Table, before: datetime, last: int) -> int:
    """Delete the rows of old epochs.

    Args:
        changes: The table `changes`.
        before: Epochs of an earlier time are old.
        last: The last complete epoch, which stays.

    Returns:
        Bytes added, usually negative.

    Raises:
        StateError: A file is damaged, or another process has removed files.
    """
    files = changes.files()
    until = _until(changes, files, before, last)
    return (
        0 if until is None else without(changes, files, lambda rows: _kept(rows, until), until + 1)
    )


def prune_closed(waiting: Table, frontier: int) -> int:
    """Delete updates of slots that are closed.

    Args:
        waiting: The table `waiting`.
        frontier: Of an epoch that no start replays.

    Returns:
        Bytes added, usually negative.

    Raises:
        StateError: A file is damaged, or another process has removed files.
    """
    return without(waiting, waiting.files(), lambda rows: pc.greater(rows["slot"], frontier))


def without(
    changes: Table,
    files: Sequence[DataFile],
    kept: Callable[[pa.Table], pa.Array],
    exact_from: int | None = None,
) -> int:
    """Rewrite files without some rows, in one commit; files that keep all rows stay as they are.

    Args:
        changes: A table without partitions.
        files: Files of its newest snapshot.
        kept: Tells which rows stay, given all columns.
        exact_from: The first epoch that has all its rows afterwards, if that changes.

    Returns:
        Bytes added, usually negative.

    Raises:
        StateError: A file is damaged, or another process has removed files.
    """
    schema = schemas.file_schema(changes.name, changes.max_arity)
    old, new = [], []
    for file in files:
        rows = changes.read(file, schema.names)
        mask = kept(rows)
        if pc.all(mask).as_py():
            continue
        old.append(file)
        if len(rest := rows.filter(mask)):
            new.append(datafile.write(changes.directory, rest.cast(schema), file.partition))
    if old:
        changes.replace(old, new, exact_from, data_change=True)
    return sum(file.size for file in new) - sum(file.size for file in old)


def _kept(rows: pa.Table, until: int) -> pa.Array:
    return pc.greater(rows.column("epoch"), until)


def _until(changes: Table, files: Sequence[DataFile], before: datetime, last: int) -> int | None:
    """The last epoch of those to delete, None if there is none."""
    times: dict[int, datetime] = {}
    for file in files:
        rows = changes.read(file, ["epoch", "ts"]).group_by("epoch").aggregate([("ts", "max")])
        epochs, latest = (rows.column(name).to_pylist() for name in ("epoch", "ts_max"))
        for epoch, time in zip(epochs, latest, strict=True):
            times[epoch] = max(time, times.get(epoch, time))
    young = [epoch for epoch, time in times.items() if time >= before]
    old = [epoch for epoch in times if epoch < min([last, *young])]
    return max(old, default=None)
