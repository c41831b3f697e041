"""Retention of old files and commits. Invariant: the newest snapshot's files are never deleted.

Other programs may read an older snapshot: they need data files merged since then, and commits
before the last checkpoint. Both are retained for an hour. At high epoch rates, where an hour would
be thousands of files, the oldest are deleted earlier, except files that were in use when the last
maintenance run began.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from streamreasoner.state import schemas
from streamreasoner.state.delta import checkpoint, log

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.state.delta.snapshot import Snapshot


def without_deleted(directory: Path, snapshot: Snapshot) -> Snapshot:
    """The snapshot without entries of removed files that no longer exist."""
    present = {entry.name for entry in os.scandir(directory)}
    removed = {
        path: entry
        for path, entry in snapshot.removed.items()
        if unquote(path) in present or "/" in path
    }
    return replace(snapshot, removed=removed)


def delete_files(directory: Path, snapshot: Snapshot) -> None:
    """Delete data files that the newest snapshot does not use and that need not be retained."""
    old = time.time() - schemas.RETENTION_SECONDS
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
        elif entry.stat().st_mtime < old:
            # An orphan of a crash; a newer file may be about to be committed.
            _delete(directory / name)
    merged.sort(reverse=True)
    for position, (moment, name) in enumerate(merged):
        if position >= schemas.MAX_UNUSED_FILES or moment < old:
            _delete(directory / name)


def delete_commits(directory: Path) -> None:
    """Delete the log before the second-newest checkpoint, or before an older one still retained."""
    versions = checkpoint.versions(directory)
    if len(versions) < 2:  # noqa: PLR2004 - the last and the one before
        return
    commits = log.commits(directory)
    old = time.time() - schemas.RETENTION_SECONDS
    first = versions[-2]
    for version in reversed(versions[:-2]):
        count = sum(version <= number <= versions[-2] for number, _ in commits)
        if (
            count > schemas.MAX_OLD_COMMITS
            or log.checkpoint_path(directory, first).stat().st_mtime < old
        ):
            break
        first = version
    expired = [path for number, path in commits if number < first]
    for path in log.directory_of(directory).glob("*.checkpoint.*"):
        version_text = path.name.partition(".")[0]
        if version_text.isdigit() and int(version_text) < first:
            expired.append(path)
    for path in sorted(expired):
        _delete(path)


def _delete(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
