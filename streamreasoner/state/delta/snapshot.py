"""Snapshots: a table's log replayed. Invariant: every byte that a snapshot depends on is verified.

A snapshot is the newest checkpoint and all commits after it, none of which may be missing. Tables
that need Delta features beyond what this version reads are refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from streamreasoner.errors import StateError
from streamreasoner.state.delta import checkpoint, log

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from streamreasoner.state.delta.checkpoint import Checkpoint
    from streamreasoner.state.delta.log import Action
    from streamreasoner.state.record import TableRecord

READER_VERSION: Final = 1
WRITER_VERSION: Final = 2
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
    """Advance an earlier snapshot to the newest version; for the process that writes the table.

    Raises:
        StateError: A commit is damaged, or needs unsupported Delta features.
    """
    commits: list[list[Action]] = []
    while (path := log.commit_path(table, earlier.version + len(commits) + 1)).exists():
        commits.append(log.read_commit(path))
    if not commits:
        return earlier
    replay = _Replay(table, earlier)
    for actions in commits:
        replay.apply(actions)
    records = (*earlier.records, *_records(commits))
    return replay.result(earlier.version + len(commits), earlier.checkpoint, records)


def read_unsealed(table: Path) -> Snapshot:
    """The newest snapshot of a table that a release without seals wrote.

    Raises:
        StateError: The log is damaged or incomplete, or needs unsupported Delta features.
    """
    try:
        return _replayed(table, checkpoint.newest_unsealed(table), sealed=False)
    except OSError as error:
        raise StateError(f"The log of the table {table} cannot be read: {error}.") from error


def check_protocol(table: Path, protocol: Action) -> None:
    """Refuse a table that needs Delta features beyond what this version reads and writes.

    Raises:
        StateError: The table needs them.
    """
    reader, writer = protocol.get("minReaderVersion", 0), protocol.get("minWriterVersion", 0)
    features = sorted(
        {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}, key=str
    )
    if reader > READER_VERSION or writer > WRITER_VERSION or features:
        named = f" and the table features {', '.join(map(str, features))}" if features else ""
        raise StateError(
            f"The table {table} needs Delta reader version {reader}, writer version {writer}"
            f"{named}; this version of streamreasoner reads and writes reader version "
            f"{READER_VERSION}, writer version {WRITER_VERSION}. Another program has changed it. "
            "Drop these features with that program (ALTER TABLE ... DROP FEATURE)"
            f"{log.OR_RESTORE}"
        )


def check_file(table: Path, added: Action) -> None:
    """Refuse a data file with a deletion vector.

    Raises:
        StateError: It has one.
    """
    if added.get("deletionVector") is not None:
        raise StateError(
            f"The data file {added['path']} of the table {table} has a deletion vector, which this "
            "version of streamreasoner does not read. Purge it with the program that wrote it "
            "(REORG TABLE ... APPLY (PURGE)) and drop the feature deletionVectors"
            f"{log.OR_RESTORE}"
        )


def _replayed(table: Path, start: Checkpoint, *, sealed: bool) -> Snapshot:
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
    replay = _Replay(table)
    replay.apply(start.actions)
    for actions in commits:
        replay.apply(actions)
    earlier = _records(log.read_commit(file, sealed=False) for file in before)
    records = (*start.records, *earlier, *_records(commits))
    return replay.result(start.version + len(commits), start.version, records)


class _Replay:
    """Applies the actions of a log in order, to get what is in effect after the last."""

    def __init__(self, table: Path, start: Snapshot | None = None) -> None:
        self._table = table
        self._protocol = None if start is None else start.protocol
        self._metadata = None if start is None else start.metadata
        self._transactions = {} if start is None else {**start.transactions}
        self._added = {} if start is None else {**start.added}
        self._removed = {} if start is None else {**start.removed}

    def result(
        self, version: int, checkpoint_version: int, records: tuple[TableRecord, ...]
    ) -> Snapshot:
        if self._protocol is None or self._metadata is None:
            raise StateError(
                f"The log of the table {self._table} has no protocol or metadata. {log.RESTORE}"
            )
        return Snapshot(
            version,
            checkpoint_version,
            self._protocol,
            self._metadata,
            self._transactions,
            self._added,
            self._removed,
            records[-RECORDS:],
        )

    def apply(self, actions: Iterable[Action]) -> None:
        for action in actions:
            for kind, entry in action.items():
                self._apply(kind, entry)

    def _apply(self, kind: str, entry: Action) -> None:
        match kind:
            case "protocol":
                check_protocol(self._table, entry)
                self._protocol = entry
            case "metaData":
                self._metadata = entry
            case "txn":
                self._transactions[entry["appId"]] = entry
            case "add":
                check_file(self._table, entry)
                self._added[entry["path"]] = entry
                self._removed.pop(entry["path"], None)
            case "remove":
                self._removed[entry["path"]] = entry
                self._added.pop(entry["path"], None)
            case _:
                # Does not affect the rows.
                pass


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


def _records(commits: Iterable[list[Action]]) -> tuple[TableRecord, ...]:
    records = (log.epoch_record(actions) for actions in commits)
    return tuple(record for record in records if record is not None)
