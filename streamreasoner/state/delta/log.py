"""Commits of a Delta log as files. Invariant: a commit is durable before it is visible.

A commit is one JSON file whose name is its version; creating the name is the atomic step. It is
written here as the Delta protocol specifies (a synced temporary file, hard-linked to the name if
the name is free), because a library that lists the log first gets slower with every commit, and
does not sync. Commits of this module are sealed; a damaged one is refused, never skipped. Commits
of other programs carry no digest; they are read if they are complete.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from streamreasoner.errors import StateError
from streamreasoner.state.delta import seal
from streamreasoner.state.record import TableRecord
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

RECORD_KEY: Final = "streamreasoner"
ENGINE: Final = "streamreasoner"
EXACT_FROM: Final = "streamreasoner:exact-from"
"""Name of the `txn` of `exactness`; an application id has no colon."""
_ACTIONS: Final = {"commitInfo", "protocol", "metaData", "txn", "add", "remove", "cdc"}

_HOW: Final = (
    " the state directory from a backup, or start over from the beginning: see Damaged state in "
    "docs/how-to/back-up-recover-upgrade.md."
)
RESTORE: Final = f"Restore{_HOW}"
OR_RESTORE: Final = f", or restore{_HOW}"


class UnsealedError(StateError):
    """A log written by a release without digests, or one whose digests are damaged."""


Action = dict[str, Any]


def directory_of(table: Path) -> Path:
    """Directory of a table's log."""
    return table / "_delta_log"


def commit_path(table: Path, version: int) -> Path:
    """The commit file of one version of a table."""
    return directory_of(table) / f"{version:020}.json"


def checkpoint_path(table: Path, version: int) -> Path:
    """The checkpoint file of one version of a table."""
    return directory_of(table) / f"{version:020}.checkpoint.parquet"


def commits(table: Path) -> list[tuple[int, Path]]:
    """The existing commit files with their versions, oldest first."""
    paths = (path for path in directory_of(table).glob("*.json") if path.stem.isdigit())
    return sorted((int(path.stem), path) for path in paths)


def exists(table: Path) -> bool:
    """Whether there is a Delta log, even a damaged one."""
    logs = directory_of(table)
    return any(any(logs.glob(names)) for names in ("*.json", "*.checkpoint.parquet"))


def commit(
    table: Path, version: int, actions: Iterable[Action], check: Callable[[list[Action]], None]
) -> int:
    """Add one commit durably at the first free version.

    Args:
        table: The table.
        version: The version to try first; all below it exist.
        actions: The actions of the commit, one JSON object each; the first is `commit_info`.
        check: Called with the actions of every commit that took a version first; raises if they
            conflict with this commit.

    Returns:
        The version of the new commit.

    Raises:
        StateError: Versions from `version` on have existed and were deleted.
    """
    logs = directory_of(table)
    temporary = logs / f"_commit_{uuid.uuid4()}.json.tmp"
    with temporary.open("wb") as file:
        file.write(seal.sealed("".join(f"{json.dumps(action)}\n" for action in actions)))
        file.flush()
        os.fsync(file.fileno())
    try:
        while True:
            _refuse_deleted(table, version)
            try:
                commit_path(table, version).hardlink_to(temporary)
            except FileExistsError:
                # The other commit must be durable before one that builds on it.
                disk.sync(commit_path(table, version))
                check(read_commit(commit_path(table, version)))
                version += 1
            else:
                disk.sync(logs)
                return version
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def commit_info(operation: str, record: TableRecord | None = None) -> Action:
    """The `commitInfo` action; it comes first, because it holds the digest of the commit."""
    information = {
        seal.KEY: seal.BLANK,
        "engineInfo": ENGINE,
        "timestamp": int(time.time() * 1000),
        "operation": operation,
        "operationParameters": {"mode": "Append"} if operation == "WRITE" else {},
        "isBlindAppend": record is not None,
    }
    if record is not None:
        information[RECORD_KEY] = record.to_json()
    return {"commitInfo": information}


def transaction(app_id: str, epoch: int) -> Action:
    """The `txn` action: the last epoch of an application that the table holds."""
    return {"txn": {"appId": app_id, "version": epoch, "lastUpdated": int(time.time() * 1000)}}


def exactness(epoch: int) -> Action:
    """The `txn` action that says which epochs can be asked of a table: from this one on, all."""
    return transaction(EXACT_FROM, epoch)


def read_commit(path: Path, *, sealed: bool = True) -> list[Action]:
    """The actions of one commit.

    Args:
        path: The commit file.
        sealed: Whether commits of this program must have a digest; those of its first releases
            have none.

    Raises:
        StateError: The file is damaged.
        UnsealedError: It has no digest.
        FileNotFoundError: It does not exist.
    """
    data = path.read_bytes()
    try:
        actions: list[Action] = [json.loads(line) for line in data.splitlines() if line.strip()]
    except ValueError:
        raise StateError(_damage(path, data)) from None
    known = all(isinstance(action, dict) and action.keys() <= _ACTIONS for action in actions)
    if not actions or not known:
        raise StateError(_damage(path, data))
    if seal.has_seal(data):
        if not seal.intact(data):
            raise StateError(_damage(path, data))
    elif sealed and _is_own(actions):
        raise UnsealedError(unsealed(path))
    return actions


def unsealed(path: Path) -> str:
    """The error message for a file of the log that should have a digest."""
    return (
        f"{path} has no digest: it is damaged, or an earlier release wrote it. In the second case "
        f"run: streamreasoner migrate --config CONFIG. {RESTORE}"
    )


def epoch_record(actions: Iterable[Action]) -> TableRecord | None:
    """The epoch record of a commit, None if it belongs to no epoch."""
    for action in actions:
        text = action.get("commitInfo", {}).get(RECORD_KEY)
        if text is not None:
            return TableRecord.from_json(text)
    return None


def transaction_version(actions: Iterable[Action], app_id: str) -> int | None:
    """The epoch that a commit records for an application, None if it records none."""
    for action in actions:
        entry = action.get("txn")
        if entry is not None and entry["appId"] == app_id:
            return int(entry["version"])
    return None


def _is_own(actions: Iterable[Action]) -> bool:
    notes = [action["commitInfo"] for action in actions if "commitInfo" in action]
    return any(note.get("engineInfo") == ENGINE or RECORD_KEY in note for note in notes)


def _refuse_deleted(table: Path, version: int) -> None:
    # The name may be free because the commit was cleaned up while this process was stalled. The
    # file right before the next version is never cleaned up.
    before = (commit_path(table, version - 1), checkpoint_path(table, version - 1))
    taken = commit_path(table, version).exists()
    if version > 0 and not taken and not any(path.exists() for path in before):
        raise StateError(
            f"The commit {commit_path(table, version - 1)} is missing: another process has been "
            f"writing to {table}, or the file was deleted. Stop the other process and restart this "
            "one."
        )


def _damage(path: Path, data: bytes) -> str:
    state = "empty" if not data else "damaged"
    return f"The Delta commit {path} is {state}. {RESTORE}"
