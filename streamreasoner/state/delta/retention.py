"""Retention of old files and commits. Invariant: the newest snapshot's files are never deleted.

Other programs may read an older snapshot: they need data files merged since then, and commits
before the last checkpoint. Both are retained for some time. At high epoch rates, where that would
be thousands of files, the oldest are deleted earlier, except files that were in use when the last
maintenance run began.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from streamreasoner.engine.updates import TRACE_EPOCHS
from streamreasoner.state.delta import checkpoint, log

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from streamreasoner.state.delta.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of a state's past is retained.

    Attributes:
        changes: Seconds that rows of `changes` are retained after the time of their epoch; 0 means
            without end.
        trace_epochs: Number of last epochs at whose ends the state can be asked for.
        versions: Seconds that past versions of a table are retained.
        unused_files: Files that the newest version does not use; the oldest beyond this number are
            deleted early.
        log_entries: Commits before the last two checkpoints; those beyond this number are deleted
            early.
    """

    changes: float = 0.0
    trace_epochs: int = TRACE_EPOCHS
    versions: float = 3600.0
    unused_files: int = 128
    log_entries: int = 128


DEFAULT: Final = Retention()
"""What is retained if nothing else is configured."""
NONE: Final = Retention(versions=0.0, unused_files=0, log_entries=0)
"""No past version of a table is retained."""


def without_deleted(directory: Path, snapshot: Snapshot) -> Snapshot:
    """The snapshot without entries of removed files that no longer exist."""
    present = {entry.name for entry in os.scandir(directory)}
    removed = {
        path: entry
        for path, entry in snapshot.removed.items()
        if unquote(path) in present or "/" in path
    }
    return replace(snapshot, removed=removed)


def delete_files(
    directory: Path, snapshot: Snapshot, retention: Retention, abandoned: Collection[str]
) -> None:
    """Delete data files that the newest snapshot does not use and that need not be retained.

    Args:
        directory: Directory of the table.
        snapshot: Its newest snapshot.
        retention: What to retain.
        abandoned: Files that no process is about to commit, if the snapshot has never had them.
    """
    old = time.time() - retention.versions
    used = {unquote(path) for path in snapshot.added}
    removed = {
        unquote(path): entry.get("deletionTimestamp", 0) / 1000
        for path, entry in snapshot.removed.items()
    }
    merged: list[tuple[float, str]] = []
    for entry in os.scandir(directory):
        name = entry.name
        if not name.endswith(".parquet") or name in used:
            continue
        if name in removed:
            merged.append((removed[name], name))
        elif name in abandoned and entry.stat().st_mtime < old:
            # An orphan of a crash; another process may be about to commit a newer file.
            _delete(directory / name)
    merged.sort(reverse=True)
    for position, (moment, name) in enumerate(merged):
        if position >= retention.unused_files or moment < old:
            _delete(directory / name)


def delete_commits(directory: Path, retention: Retention = DEFAULT) -> None:
    """Delete the log before the second-newest checkpoint, or before an older one still retained."""
    versions = checkpoint.versions(directory)
    if len(versions) < 2:  # noqa: PLR2004 - the last and the one before
        return
    commits = log.commits(directory)
    old = time.time() - retention.versions
    first = versions[-2]
    for version in reversed(versions[:-2]):
        count = sum(version <= number <= versions[-2] for number, _ in commits)
        if (
            count > retention.log_entries
            or log.checkpoint_path(directory, first).stat().st_mtime < old
        ):
            break
        first = version
    delete_log_before(directory, first)


def delete_log_before(directory: Path, version: int) -> None:
    """Delete the commits and checkpoints before a version that has a checkpoint."""
    expired = [path for number, path in log.commits(directory) if number < version]
    for path in log.directory_of(directory).glob("*.checkpoint.*"):
        version_text = path.name.partition(".")[0]
        if version_text.isdigit() and int(version_text) < version:
            expired.append(path)
    for path in sorted(expired):
        _delete(path)


def _delete(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
