"""What the log of a table amounts to. Invariant: every byte that a snapshot comes from is verified.

A snapshot is the newest checkpoint and the commits after it, each of which must be there. Tables
that need more of Delta than this version reads are refused by what they need.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from streamreasoner.errors import StateError
from streamreasoner.storage import checkpoint, log

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from streamreasoner.storage.checkpoint import Checkpoint
    from streamreasoner.storage.log import Action, EpochRecord

READER_VERSION: Final = 1
WRITER_VERSION: Final = 2
RECORDS: Final = 8
"""Epochs, the last ones, whose records a checkpoint keeps; a start asks for two."""
_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of a table.

    Attributes:
        version: Its number.
        checkpoint: The version of the checkpoint that it was read from, -1 for none.
        protocol: What Delta's readers and writers must be able to do.
        metadata: Schema and properties.
        transactions: The last transaction of each application.
        added: The files that it has, by path.
        removed: The files that it no longer has, by path, as long as the log says so.
        records: Of the last epochs, oldest first.
    """

    version: int
    checkpoint: int
    protocol: Action
    metadata: Action
    transactions: Mapping[str, Action]
    added: Mapping[str, Action]
    removed: Mapping[str, Action]
    records: tuple[EpochRecord, ...]

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties of the table."""
        found: Mapping[str, str] = self.metadata.get("configuration", {})
        return found

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return [field["name"] for field in json.loads(self.metadata["schemaString"])["fields"]]

    def epoch(self, app_id: str) -> int | None:
        """The last epoch of an application, None before the first."""
        found = self.transactions.get(app_id)
        return None if found is None else int(found["version"])

    def record(self, epoch: int) -> EpochRecord | None:
        """The record of one of the last epochs, None if it is forgotten."""
        return next((record for record in self.records if record.epoch == epoch), None)

    def actions(self) -> list[Action]:
        """The entries of a checkpoint of this version."""
        return [
            {"protocol": self.protocol},
            {"metaData": self.metadata},
            *({"txn": found} for found in self.transactions.values()),
            *({"add": {**found, "dataChange": False}} for found in self.added.values()),
            *({"remove": {**found, "dataChange": False}} for found in self.removed.values()),
        ]


def read(table: Path) -> Snapshot:
    """The newest snapshot of a table; another process may be writing to it.

    Raises:
        StateError: The log is damaged, incomplete, or needs another reader.
        UnsealedError: It has no digests.
    """
    for _ in range(_TRIES):
        try:
            return _replayed(table, checkpoint.newest(table), sealed=True)
        except FileNotFoundError:
            # Cleaned up between listing and reading: there is a newer checkpoint.
            continue
        except OSError as error:
            raise StateError(f"The log of the table {table} cannot be read: {error}.") from error
    raise StateError(f"The log of the table {table} changes faster than it can be read. Try again.")


def follow(table: Path, earlier: Snapshot) -> Snapshot:
    """The newest snapshot, from one that the process that writes the table has read before.

    Raises:
        StateError: A commit is damaged, or needs another reader.
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
    """The newest snapshot of a table that a version without seals wrote.

    Raises:
        StateError: The log is damaged, incomplete, or needs another reader.
    """
    try:
        return _replayed(table, checkpoint.newest_unsealed(table), sealed=False)
    except OSError as error:
        raise StateError(f"The log of the table {table} cannot be read: {error}.") from error


def check_protocol(table: Path, protocol: Action) -> None:
    """Refuse a table that needs more of Delta than this version reads and writes.

    Raises:
        StateError: Says what it needs, and the way out.
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
    """Refuse a data file of which rows are deleted elsewhere.

    Raises:
        StateError: Names it, and the way out.
    """
    if added.get("deletionVector") is not None:
        raise StateError(
            f"The data file {added['path']} of the table {table} has a deletion vector, which this "
            "version of streamreasoner does not read. Purge it with the program that wrote it "
            "(REORG TABLE ... APPLY (PURGE)) and drop the feature deletionVectors"
            f"{log.OR_RESTORE}"
        )


def _replayed(table: Path, start: Checkpoint, *, sealed: bool) -> Snapshot:
    """The snapshot after all commits that follow a checkpoint."""
    others = checkpoint.versions(table, sealed=False)
    present = log.commits(table)
    # A version without seals keeps the records of epochs in its commits only.
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
    """Entries of a log, one after the other: what holds after the last of them."""

    def __init__(self, table: Path, start: Snapshot | None = None) -> None:
        self._table = table
        self._protocol = None if start is None else start.protocol
        self._metadata = None if start is None else start.metadata
        self._transactions = {} if start is None else {**start.transactions}
        self._added = {} if start is None else {**start.added}
        self._removed = {} if start is None else {**start.removed}

    def result(
        self, version: int, checkpoint_version: int, records: tuple[EpochRecord, ...]
    ) -> Snapshot:
        if self._protocol is None or self._metadata is None:
            raise StateError(
                f"The log of the table {self._table} does not say what the table is. {log.RESTORE}"
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
                # Nothing that the rows depend on.
                pass


def _check_complete(table: Path, start: int, present: Sequence[int], *, sealed: bool) -> None:
    """Refuse a log in which a commit is missing after a checkpoint.

    Raises:
        StateError: Names the commit.
        FileNotFoundError: There is another checkpoint by now.
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
    """Refuse a log that ends before a checkpoint, which another program may have written.

    Raises:
        StateError: Names the checkpoint.
        FileNotFoundError: There is another checkpoint with a seal by now.
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


def _records(commits: Iterable[list[Action]]) -> tuple[EpochRecord, ...]:
    found = (log.epoch_record(actions) for actions in commits)
    return tuple(record for record in found if record is not None)
