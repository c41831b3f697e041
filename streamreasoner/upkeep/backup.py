"""Copies of a state, which its pipeline may be using. Invariant: a backup is whole, or not there.

A backup is a directory:

| path | content |
|---|---|
| `manifest.json` | application, epoch, version, and the digest of each file; sealed itself |
| `tables/` | the Delta tables as of that epoch, with the part of their logs that gives it |
| `checkpoint/` | Spark's checkpoint as of the same epoch |
| others | the records of the state: topics, application, schemas, attempts |

The tables are held as a reader holds them, `trace` first, and the checkpoint is copied then: a
batch is planned before any table has it. So the copy is as a crash would leave the state.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from streamreasoner import __version__
from streamreasoner.counts import counted
from streamreasoner.errors import StateError
from streamreasoner.history.epochs import Past
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.pipeline.bootstrap.record import check_finished
from streamreasoner.state import TRACE, schemas
from streamreasoner.state.delta import log, seal
from streamreasoner.state.delta.checkpoint import seal_path
from streamreasoner.state.version import StateVersion
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from _typeshed import ReadableBuffer

    from streamreasoner.config import Config
    from streamreasoner.config.process import StateConfig
    from streamreasoner.state.delta.held import HeldTable

MANIFEST: Final = "manifest.json"
TABLES: Final = "tables"
CHECKPOINT: Final = "checkpoint"
_FORMAT: Final = 1
_TRIES: Final = 20
# How long an epoch may take from the tables to Spark's commit; then its pipeline is not running.
_COMMIT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.005
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup has.

    Attributes:
        app_id: The application.
        epoch: The last epoch in the tables.
        committed: The last epoch that Spark had committed: the same, or the one before.
        made: When it was made, seconds since 1970.
        release: The release that made it.
        format: That of the state.
        semantics: Those of the state.
        files: Size and SHA-256 of each file, by its path in the backup.
    """

    app_id: str
    epoch: int
    committed: int
    made: int
    release: str
    format: int
    semantics: int
    files: Mapping[str, tuple[int, str]]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for size, _ in self.files.values())


def back_up(config: Config, into: Path) -> Manifest:
    """Copy a state, and read the copy again.

    Args:
        config: The configuration of its pipeline, which may be running.
        into: The backup, a directory that does not exist or is empty.

    Raises:
        StateError: There is no epoch yet, the state is damaged, or the copy cannot be written.
    """
    if into.exists() and not (into.is_dir() and not any(into.iterdir())):
        raise StateError(f"{into} exists already. Name a new directory for the backup.")
    check_finished(config.state)
    unfinished = into.with_name(f".{into.name}.unfinished")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        past, files = _held(config.state)
        digests = {name: _write(unfinished / name, data) for name, data in files.items()}
        manifest = _manifest(past, _committed(files), digests)
        content = {seal.KEY: seal.BLANK, "backup": _FORMAT, **asdict(manifest)}
        _write(unfinished / MANIFEST, seal.sealed(json.dumps(content, indent=1)))
        for directory in [unfinished, *(path for path in unfinished.rglob("*") if path.is_dir())]:
            disk.sync(directory)
        found = verify(unfinished)
        unfinished.rename(into)
        disk.sync(into.parent)
    except OSError as error:
        raise StateError(
            f"The backup {into} cannot be written: {error.strerror}. Fix the cause, and repeat the "
            "command."
        ) from None
    return found


def verify(backup: Path) -> Manifest:
    """Read a backup and compare it with its manifest.

    Raises:
        StateError: It is none, or is damaged; names the file.
    """
    manifest = _read_manifest(backup)
    for name, expected in manifest.files.items():
        path = backup / name
        try:
            found = path.stat().st_size, _digest(path)
        except OSError as error:
            raise _damaged(backup, f"{path} cannot be read: {error.strerror}") from None
        if found != expected:
            raise _damaged(
                backup,
                f"{path} has {counted(found[0], 'byte')} with the SHA-256 {found[1][:12]}, and had "
                f"{counted(expected[0], 'byte')} with {expected[1][:12]}",
            )
    return manifest


def copy_back(backup: Path, manifest: Manifest, state: StateConfig) -> None:
    """Copy a verified backup into an empty state.

    Raises:
        StateError: It was changed meanwhile, or the state cannot be written.
    """
    places = {TABLES: state.tables, CHECKPOINT: state.checkpoint_directory}
    try:
        written = set()
        for name, expected in manifest.files.items():
            first, *rest = Path(name).parts
            path = places.get(first, state.directory / first).joinpath(*rest)
            if _write(path, (backup / name).read_bytes()) != expected:
                raise _damaged(backup, f"{backup / name} was changed while it was read")
            written |= {path.parent, path.parent.parent}
        for directory in written:
            disk.sync(directory)
    except OSError as error:
        raise StateError(
            f"{error.filename or state.directory} cannot be written: {error.strerror}. Fix the "
            "cause, and repeat the command."
        ) from None


def _held(state: StateConfig) -> tuple[Past, dict[str, ReadableBuffer]]:
    """One version of all tables, and the files of a backup of it."""
    for _ in range(_TRIES):
        past = Past(state.tables)
        if _newest(past) > past.last + 1:
            # More than one epoch has ended while they were opened, which no crash would leave.
            continue
        try:
            files: dict[str, ReadableBuffer] = {}
            for name, table in past.tables.items():
                files |= {f"{TABLES}/{name}/{path}": data for path, data in _of_table(table)}
            return past, files | dict(_of_checkpoint(state, past)) | dict(_records(state))
        except FileNotFoundError:
            # Cleaned up since the tables were opened: there are newer ones.
            continue
    raise StateError(
        f"The files of {state.directory} are deleted faster than they can be copied. Raise "
        "retention.log_entries, or repeat the command while there is less input."
    )


def _of_table(table: HeldTable) -> Iterator[tuple[str, ReadableBuffer]]:
    """The log and the data files of a version of a table."""
    snapshot, directory = table.snapshot(), table.directory
    paths = [
        log.commit_path(directory, version)
        for version in range(snapshot.checkpoint + 1, snapshot.version + 1)
    ]
    if snapshot.checkpoint >= 0:
        of_checkpoint = (log.checkpoint_path, seal_path)
        paths += [path_of(directory, snapshot.checkpoint) for path_of in of_checkpoint]
    for path in paths:
        yield str(path.relative_to(directory)), path.read_bytes()
    for file in table.files():
        yield str(file.path_in(directory).relative_to(directory)), table.mapped[file.path]


def _newest(past: Past) -> int:
    """The newest epoch that any table has rows of, -1 if none has."""
    epochs = (table.epoch for table in past.tables.values())
    return max((epoch for epoch in epochs if epoch is not None), default=-1)


def _of_checkpoint(state: StateConfig, past: Past) -> Iterator[tuple[str, bytes]]:
    """Spark's checkpoint with the last epoch of the tables, and one that has begun in some."""
    directory, last = state.checkpoint_directory, past.last
    deadline = time.monotonic() + _COMMIT_SECONDS
    while (committed := Checkpoint.last_committed(directory)) < last:
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_SECONDS)
    committed = min(committed, last)
    has_begun = _newest(past) > last
    names = ["metadata", "sources/0/0"]
    # The range of a batch begins where the one before ends.
    names += [f"offsets/{batch}" for batch in range(max(0, committed - 1), last + 1 + has_begun)]
    names += [f"commits/{committed}"] * (committed >= 0)
    for name in names:
        yield f"{CHECKPOINT}/{name}", (directory / name).read_bytes()


def _records(state: StateConfig) -> Iterator[tuple[str, bytes]]:
    for path in state.records:
        if path.exists():
            yield path.name, path.read_bytes()


def _committed(files: Mapping[str, ReadableBuffer]) -> int:
    before = f"{CHECKPOINT}/commits/"
    return max((int(name.removeprefix(before)) for name in files if before in name), default=-1)


def _manifest(past: Past, committed: int, files: Mapping[str, tuple[int, str]]) -> Manifest:
    properties = past.tables[TRACE].snapshot().properties
    version = StateVersion.of_properties(properties)
    return Manifest(
        app_id=properties[schemas.APP_ID],
        epoch=past.last,
        committed=committed,
        made=int(time.time()),
        release=__version__,
        format=version.format,
        semantics=version.semantics,
        files=files,
    )


def _write(path: Path, data: ReadableBuffer) -> tuple[int, str]:
    """Write a file durably; returns its size and digest."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    disk.write(path, data)
    return memoryview(data).nbytes, seal.digest(data)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return seal.digest_of(iter(lambda: file.read(_CHUNK), b""))


def _read_manifest(backup: Path) -> Manifest:
    path = backup / MANIFEST
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StateError(
            f"{backup} is not a backup: {path} cannot be read ({error.strerror}). Name a directory "
            "that streamreasoner backup has written."
        ) from None
    if not seal.intact(data):
        raise _damaged(backup, f"{path} is not as it was written")
    content = json.loads(data)
    del content[seal.KEY]
    if (number := content.pop("backup")) != _FORMAT:
        raise StateError(
            f"{backup} has the format {number}, and this release reads {_FORMAT}. Restore it with "
            f"release {content.get('release')}."
        )
    files = {name: (size, digest) for name, (size, digest) in content.pop("files").items()}
    return Manifest(**content, files=files)


def _damaged(backup: Path, what: str) -> StateError:
    return StateError(f"The backup {backup} is damaged: {what}. Restore another one.")
