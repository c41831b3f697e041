"""The Delta log as files. Invariant: a commit is on the disk before it can be seen.

A commit is one JSON file whose name is its version; creating the name is the atomic step. It is
made here as the Delta protocol says (a synced temporary file, linked under the name if the name is
free), because a library that first lists the log needs longer the more commits there are, and does
not sync. A damaged log is refused, never read as fewer commits.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from streamreasoner.errors import StateError
from streamreasoner.storage import datafile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

RECORD_KEY: Final = "streamreasoner"
ENGINE: Final = "streamreasoner"

Offsets = dict[str, dict[str, list[int]]]
Action = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """What the commit of one epoch says about the epoch.

    Attributes:
        epoch: The epoch, equal to the version of the application's transaction in that commit.
        previous: The epoch before it, None for the first.
        requires: Names of the tables that hold rows of this epoch, besides `trace`.
        offsets: Input read by the epoch: topic -> partition -> [first, next], as given to commit.
        program: Hash of the program that came with this epoch, None if it did not change.
    """

    epoch: int
    previous: int | None
    requires: tuple[str, ...]
    offsets: Offsets
    program: str | None = None

    def to_json(self) -> str:
        """The record as a value in a commit's information."""
        return json.dumps(
            {
                "epoch": self.epoch,
                "previous": self.previous,
                "requires": self.requires,
                "offsets": self.offsets,
                "program": self.program,
            }
        )

    @staticmethod
    def from_json(text: str) -> EpochRecord:
        """Inverse of `to_json`."""
        fields = json.loads(text)
        return EpochRecord(
            epoch=fields["epoch"],
            previous=fields["previous"],
            requires=tuple(fields["requires"]),
            offsets=fields["offsets"],
            program=fields["program"],
        )


def directory_of(table: Path) -> Path:
    """Where a table keeps its log."""
    return table / "_delta_log"


def commit_path(table: Path, version: int) -> Path:
    """The commit file of one version of a table."""
    return directory_of(table) / f"{version:020}.json"


def commits(table: Path) -> list[tuple[int, Path]]:
    """The commit files that are still there, oldest first, with their versions."""
    found = (path for path in directory_of(table).glob("*.json") if path.stem.isdigit())
    return sorted((int(path.stem), path) for path in found)


def commit(
    table: Path, version: int, actions: Iterable[Action], check: Callable[[list[Action]], None]
) -> int:
    """Add one commit durably at the first free version.

    Args:
        table: The table.
        version: The version to try first; all below it exist.
        actions: The commit, one JSON object each.
        check: Called with the actions of every commit that came first; raises if both cannot be.

    Returns:
        The version it got.

    Raises:
        StateError: The versions from `version` on have been there and are gone.
    """
    logs = directory_of(table)
    temporary = logs / f"_commit_{uuid.uuid4()}.json.tmp"
    with temporary.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(action)}\n" for action in actions)
        file.flush()
        os.fsync(file.fileno())
    try:
        while True:
            _refuse_forgotten(table, version)
            try:
                commit_path(table, version).hardlink_to(temporary)
            except FileExistsError:
                # What was committed in between must not be lost when this commit is not.
                datafile.sync_file(commit_path(table, version))
                check(read_actions(commit_path(table, version)))
                version += 1
            else:
                datafile.sync_file(logs)
                return version
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def commit_info(operation: str, record: EpochRecord | None = None) -> Action:
    """The entry of a commit that tells people what it is."""
    information = {
        "timestamp": int(time.time() * 1000),
        "operation": operation,
        "operationParameters": {"mode": "Append"},
        "isBlindAppend": record is not None,
        "engineInfo": ENGINE,
    }
    if record is not None:
        information[RECORD_KEY] = record.to_json()
    return {"commitInfo": information}


def transaction(app_id: str, epoch: int) -> Action:
    """The entry of a commit that says up to which epoch the table holds an application."""
    return {"txn": {"appId": app_id, "version": epoch, "lastUpdated": int(time.time() * 1000)}}


def read_actions(path: Path) -> list[Action]:
    """The entries of one commit.

    Raises:
        ValueError: The file is cut short or is not text.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def verify(table: Path) -> None:
    """Refuse a log in which a commit that is still needed is missing, empty or cut short.

    Raises:
        StateError: Names the file and what may be done about it.
    """
    first = checkpoint_version(table) + 1
    present = [(version, path) for version, path in commits(table) if version >= first]
    for expected, (version, path) in enumerate(present, start=first):
        if version != expected:
            raise StateError(
                f"The log of the table {table} has no version {expected} but has version "
                f"{version}. Restore {commit_path(table, expected)} from a backup."
            )
        try:
            damaged = not read_actions(path)
        except ValueError:
            damaged = True
        if damaged:
            raise StateError(_damage(path, newest=version == present[-1][0]))


def checkpoint_version(table: Path) -> int:
    """Version of the newest checkpoint, -1 if there is none."""
    found = directory_of(table).glob("*.checkpoint.parquet")
    return max((int(path.name[:20]) for path in found if path.name[:20].isdigit()), default=-1)


def epoch_record(table: Path, app_id: str, epoch: int) -> EpochRecord | None:
    """The record of one epoch, looked for from the newest commit back; None if it is not there."""
    for _, path in reversed(commits(table)):
        actions = read_actions(path)
        committed = transaction_version(actions, app_id)
        if committed == epoch:
            return next(
                EpochRecord.from_json(action["commitInfo"][RECORD_KEY])
                for action in actions
                if RECORD_KEY in action.get("commitInfo", {})
            )
        if committed is not None and committed < epoch:
            return None
    return None


def transaction_version(actions: Iterable[Action], app_id: str) -> int | None:
    """The epoch that one commit records for an application, None if it does not."""
    for action in actions:
        found = action.get("txn")
        if found is not None and found["appId"] == app_id:
            return int(found["version"])
    return None


def _refuse_forgotten(table: Path, version: int) -> None:
    # A name may also be free because its commit was cleaned up while this process stood still.
    pointer = directory_of(table) / "_last_checkpoint"
    if commit_path(table, version).exists() or not pointer.exists():
        return
    if version <= json.loads(pointer.read_text(encoding="utf-8"))["version"]:
        raise StateError(f"Another process has written to {table} for long. Start again.")


def _damage(path: Path, *, newest: bool) -> str:
    state = "empty" if path.stat().st_size == 0 else "cut short or damaged"
    advice = (
        "The machine stopped while it was being written. Delete this one file and start again: "
        "its epoch is read from Kafka once more."
        if newest
        else "Restore it from a backup, or delete the state and start from the beginning."
    )
    return f"The Delta commit {path} is {state}. {advice}"
