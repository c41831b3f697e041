"""What of a table's past is kept. Invariant: what the newest snapshot needs is never deleted.

Other programs may read a snapshot that is older than the newest one: they need data files that were
merged since, and commits before the last checkpoint. Both are kept for an hour. Where epochs are so
frequent that an hour of them would be thousands of files, the oldest are deleted earlier, but
nothing that was in use when the last run of maintenance began.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from streamreasoner.storage import checkpoint, layout, log

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.storage.snapshot import Snapshot


def without_deleted(directory: Path, snapshot: Snapshot) -> Snapshot:
    """The same snapshot, which forgets files that it does not have and that are deleted."""
    present = {entry.name for entry in os.scandir(directory)}
    kept = {
        path: entry
        for path, entry in snapshot.removed.items()
        if unquote(path) in present or "/" in path
    }
    return replace(snapshot, removed=kept)


def delete_files(directory: Path, snapshot: Snapshot) -> None:
    """Delete data files that the newest snapshot does not use, as far as described above."""
    old = time.time() - layout.RETENTION_SECONDS
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
            # Left behind by a crash; a younger one may be about to be committed.
            _delete(directory / name)
    merged.sort(reverse=True)
    for position, (moment, name) in enumerate(merged):
        if position >= layout.KEPT_FILES or moment < old:
            _delete(directory / name)


def delete_commits(directory: Path) -> None:
    """Delete what comes before the last but one checkpoint, or before an older one."""
    versions = checkpoint.versions(directory)
    if len(versions) < 2:  # noqa: PLR2004 - the last and the one before
        return
    commits = log.commits(directory)
    old = time.time() - layout.RETENTION_SECONDS
    first = versions[-2]
    for version in reversed(versions[:-2]):
        count = sum(version <= number <= versions[-2] for number, _ in commits)
        if (
            count > layout.KEPT_COMMITS
            or log.checkpoint_path(directory, first).stat().st_mtime < old
        ):
            break
        first = version
    gone = [path for number, path in commits if number < first]
    for path in log.directory_of(directory).glob("*.checkpoint.*"):
        version_text = path.name.partition(".")[0]
        if version_text.isdigit() and int(version_text) < first:
            gone.append(path)
    for path in sorted(gone):
        _delete(path)


def _delete(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
