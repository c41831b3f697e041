"""Snapshots: a table's log replayed. Invariant: every byte that a snapshot depends on is verified.

A snapshot is the newest checkpoint and all commits after it, none of which may be missing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from streamreasoner.errors import StateError
from streamreasoner.state.delta import checkpoint, log
from streamreasoner.state.delta.replay import Place, Replay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from streamreasoner.state.delta.checkpoint import LogCheckpoint
    from streamreasoner.state.delta.log import Action
    from streamreasoner.state.record import TableRecord

RECORDS: Final = 8
"""Epoch records in a checkpoint, the newest ones; recovery needs two."""
_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of a table.

    Attributes:
        version: Its number.
        checkpoint: The version of the checkpoint that it was read from, -1 for none.
        protocol: The Delta protocol that readers and writers must support.
        metadata: Schema and properties.
        transactions: The last transaction of each application.
        added: Its files, by path.
        removed: Removed files that the log still lists, by path.
        records: Records of the last epochs, oldest first.
    """

    version: int
    checkpoint: int
    protocol: Action
    metadata: Action
    transactions: Mapping[str, Action]
    added: Mapping[str, Action]
    removed: Mapping[str, Action]
    records: tuple[TableRecord, ...]

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties of the table."""
        configuration: Mapping[str, str] = self.metadata.get("configuration", {})
        return configuration

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return [field["name"] for field in json.loads(self.metadata["schemaString"])["fields"]]

    def epoch(self, app_id: str) -> int | None:
        """The last epoch of an application, None before the first."""
        transaction = self.transactions.get(app_id)
        return None if transaction is None else int(transaction["version"])

    @property
    def exact_from(self) -> int | None:
        """The first epoch whose rows are neither summed with later ones nor deleted.

        -1 if all are as they were written, None if a release that wrote the table did not say.
        """
        return self.epoch(log.EXACT_FROM)

    def record(self, epoch: int) -> TableRecord | None:
        """The record of one of the last epochs, None if the log no longer holds it."""
        return next((record for record in self.records if record.epoch == epoch), None)

    def actions(self) -> list[Action]:
        """The actions of a checkpoint at this version."""
        return [
            {"protocol": self.protocol},
            {"metaData": self.metadata},
            *({"txn": entry} for entry in self.transactions.values()),
            *({"add": {**entry, "dataChange": False}} for entry in self.added.values()),
            *({"remove": {**entry, "dataChange": False}} for entry in self.removed.values()),
        ]


def place(table: Path) -> Place:
    """The log of a table in a directory."""

    def commit(version: int) -> list[Action] | None:
        path = log.commit_path(table, version)
        return log.read_commit(path) if path.exists() else None

    return Place(
        str(table),
        commit,
        "Another program has changed it. Drop these features with that program "
        f"(ALTER TABLE ... DROP FEATURE){log.OR_RESTORE}",
        "Purge it with the program that wrote it (REORG TABLE ... APPLY (PURGE)) and drop the "
        f"feature deletionVectors{log.OR_RESTORE}",
    )


def read(table: Path) -> Snapshot:
    """The newest snapshot of a table; another process may be writing to it.

    Raises:
        StateError: The log is damaged or incomplete, or needs unsupported Delta features.
        UnsealedError: It has no digests.
    """
    for _ in range(_TRIES):
        try:
            return _replayed(table, checkpoint.newest(table), sealed=True)
        except FileNotFoundError:
            # Cleaned up between listing and reading, so there is a newer checkpoint.
            continue
        except OSError as error:
            raise StateError(f"The log of the table {table} cannot be read: {error}.") from error
    raise StateError(f"The log of the table {table} changes faster than it can be read. Try again.")


def follow(table: Path, earlier: Snapshot) -> Snapshot:
    """Advance an earlier snapshot over the commits that follow it without a gap.

    Raises:
        StateError: A commit is damaged, or needs unsupported Delta features.
        FileNotFoundError: A commit was cleaned up meanwhile; not in the process that writes the
            table.
    """
    replay = Replay(
        place(table),
        earlier.protocol,
        earlier.metadata,
        {**earlier.transactions},
        {**earlier.added},
        {**earlier.removed},
        [*earlier.records],
    )
    version = replay.follow(earlier.version)
    return earlier if version == earlier.version else _snapshot(replay, version, earlier.checkpoint)


def problem(error: StateError) -> str:
    """What is wrong with a table that belongs to no state, with advice for its owner."""
    text = str(error).replace("Another program has changed it. Drop", "Drop")
    text = text.replace(log.OR_RESTORE, ", or write a copy without them.")
    return text.replace(log.RESTORE, "Repair it with the program that wrote it.")


def read_unsealed(table: Path) -> Snapshot:
    """The newest snapshot of a table that a release without seals wrote.

    Raises:
        StateError: The log is damaged or incomplete, or needs unsupported Delta features.
    """
    try:
        return _replayed(table, checkpoint.newest_unsealed(table), sealed=False)
    except OSError as error:
        raise StateError(f"The log of the table {table} cannot be read: {error}.") from error


def _replayed(table: Path, start: LogCheckpoint, *, sealed: bool) -> Snapshot:
    """The snapshot after replaying all commits that follow a checkpoint."""
    others = checkpoint.versions(table, sealed=False)
    present = log.commits(table)
    # Releases without seals keep epoch records in commits only.
    before = [] if sealed else [file for number, file in present if number <= start.version]
    after = [(number, file) for number, file in present if number > start.version]
    _check_complete(table, start.version, [number for number, _ in after], sealed=sealed)
    if others and others[-1] > start.version + len(after):
        _refuse_lost_end(table, start.version, others[-1], sealed=sealed)
    commits = [log.read_commit(file, sealed=sealed) for _, file in after]
    earlier = (log.epoch_record(log.read_commit(file, sealed=False)) for file in before)
    replay = Replay(place(table), records=[*start.records, *filter(None, earlier)])
    for actions in (start.actions, *commits):
        replay.apply(actions)
    return _snapshot(replay, start.version + len(commits), start.version)


def _snapshot(replay: Replay, version: int, checkpoint_version: int) -> Snapshot:
    if replay.protocol is None or replay.metadata is None:
        raise StateError(
            f"The log of the table {replay.place.table} has no protocol or metadata. {log.RESTORE}"
        )
    return Snapshot(
        version,
        checkpoint_version,
        replay.protocol,
        replay.metadata,
        replay.transactions,
        replay.added,
        replay.removed,
        tuple(replay.records[-RECORDS:]),
    )


def _check_complete(table: Path, start: int, present: Sequence[int], *, sealed: bool) -> None:
    """Refuse a log in which a commit is missing after a checkpoint.

    Raises:
        StateError: A commit is missing.
        FileNotFoundError: There is a newer checkpoint in the meantime.
    """
    missing = next((n for n, number in enumerate(present, start + 1) if n != number), None)
    if missing is None:
        return
    path = log.commit_path(table, missing)
    if sealed and checkpoint.versions(table)[-1:] > [start]:
        raise FileNotFoundError(path)
    if start < 0 and missing == 0 and (others := checkpoint.versions(table, sealed=False)):
        raise log.UnsealedError(log.unsealed(log.checkpoint_path(table, others[-1])))
    raise StateError(
        f"The log of the table {table} has version {present[-1]}, but not version {missing}: the "
        f"file {path} is missing. {log.RESTORE}"
    )


def _refuse_lost_end(table: Path, start: int, newest: int, *, sealed: bool) -> None:
    """Refuse a log whose commits end before a checkpoint, even one of another program.

    Raises:
        StateError: They end before it.
        FileNotFoundError: There is a newer checkpoint with a seal in the meantime.
    """
    path = log.checkpoint_path(table, newest)
    if sealed and checkpoint.versions(table)[-1:] > [start]:
        raise FileNotFoundError(path)
    if start < 0:
        raise log.UnsealedError(log.unsealed(path))
    raise StateError(
        f"The log of the table {table} has the checkpoint {path}, but no commits up to it. "
        f"{log.RESTORE}"
    )
