"""A state directory as the copy of one in an object store.

Invariant: what the store has is what the directory had at one moment, at which a process that died
would have left a state that can be resumed.

A pipeline works in its directory as one without a store does. What has changed there is uploaded
twice for each epoch: when the epoch is planned, before it is evaluated, and when it is in the
tables, before it is published. So the store has all that is published, and an epoch that ends its
process is found planned by the next one. A start makes the directory equal to the store; what a
crash left there alone was not published.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from streamreasoner.errors import EnvironmentSetupError, StateError
from streamreasoner.state.delta import log, seal
from streamreasoner.state.objects.bucket import Bucket
from streamreasoner.state.objects.journal import FILES, REQUESTS, Content, Journal
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INLINE: Final = 1 << 14
"""Bytes of the largest file that is in an entry of the journal."""
MARK: Final = "object-store"
"""The file that says which store a directory is the copy of."""
_LOCAL: Final = frozenset({"lock", "standby", "tmp", "spark.log", MARK})
"""What of a state directory belongs to the machine, or is made again."""
_TABLES: Final = "tables"
_LOGS: Final = log.directory_of(Path()).name
_TRIES: Final = 100


class Upload(Protocol):
    """Makes a state directory durable elsewhere."""

    def fill(self) -> None:
        """Let the directory, which is locked, have what is there."""

    def check_ended(self) -> None:
        """Refuse a state whose last writer may still be running."""

    def claim(self, *, ended: bool = False) -> None:
        """Become the only process that writes there; a command counts as ended at once."""

    def upload(self) -> None:
        """Upload what has changed; returns when it is durable."""

    def end(self) -> None:
        """Upload what has changed, for the last time."""

    def abandon(self) -> None:
        """Leave what has changed, and say that nothing will be uploaded any more."""

    def erase(self) -> Sequence[str]:
        """As `end`, without a trace of deleted files; returns addresses where some may be left."""


class NoUpload:
    """The directory itself is durable."""

    def fill(self) -> None:
        """Nothing to fill it with."""

    def check_ended(self) -> None:
        """The lock says it."""

    def claim(self, *, ended: bool = False) -> None:
        """The lock is the claim."""

    def upload(self) -> None:
        """Nothing to upload."""

    def end(self) -> None:
        """Nothing to upload."""

    def abandon(self) -> None:
        """Nothing to say."""

    def erase(self) -> Sequence[str]:
        """Nothing to erase."""
        return ()


class _Version(NamedTuple):
    """What changes when a file does."""

    changed: int
    size: int
    file: int

    @classmethod
    def of(cls, status: os.stat_result) -> _Version:
        """The version of a file with this status."""
        return cls(status.st_mtime_ns, status.st_size, status.st_ino)


class Mirror:
    """The mirror of a state directory, which is locked.

    Args:
        directory: The directory.
        url: Address of the state in the object store.

    Raises:
        EnvironmentSetupError: The store does not answer, or refuses.
    """

    def __init__(self, directory: Path, url: str) -> None:
        self._directory = directory
        self._bucket = Bucket(url)
        self._bucket.check()
        self._journal = Journal(self._bucket)
        self._uploaded: dict[str, _Version] = {}
        self._unused: list[str] = []

    def fill(self) -> None:
        """Make the directory equal to the state in the store; a new one there begins as it is.

        Raises:
            StateError: The directory has a state of its own, or an object is missing or damaged.
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        self._journal.read()
        if self._journal.last is not None:
            self._refuse_another()
        disk.write(self._directory / MARK, f"{self._bucket.url}\n".encode())
        if self._journal.last is None:
            return
        while not self._equal():
            pass
        self._uploaded = {
            path: _Version.of((self._directory / path).stat()) for path in self._journal.files
        }

    def _equal(self) -> bool:
        """Make the directory equal to the journal as it was read; false if it must be read again.

        Raises:
            StateError: An object is missing or damaged.
        """
        wanted, last = self._journal.files, self._journal.last
        for path in [*_files(self._directory)]:
            if path not in wanted:
                (self._directory / path).unlink(missing_ok=True)
        _delete_empty(self._directory)
        try:
            with ThreadPoolExecutor(REQUESTS) as requests:
                for _ in requests.map(self._fetch, wanted):
                    pass
        except FileNotFoundError as error:
            self._journal.read()
            if self._journal.last == last:
                raise StateError(
                    f"An object in {self._bucket.url} that the state needs is missing: {error}. "
                    f"{log.RESTORE}"
                ) from None
            return False
        return True

    def check_ended(self) -> None:
        """Refuse a state whose last writer may still be running.

        Raises:
            StateError: It has not ended.
        """
        last = self._journal.last
        if last is not None and not last.ended:
            raise StateError(
                f"The pipeline that writes the state in {self._bucket.url} has not ended. Stop it "
                "with SIGTERM, and repeat the command. If it was killed, start it again first."
            )

    def claim(self, *, ended: bool = False) -> None:
        """Become the only process that writes the state.

        Args:
            ended: Whether the process is not a pipeline, so that it counts as ended at once.

        Raises:
            StateError: Another process has written since `fill`.
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        self._journal.claim(ended=ended)

    def upload(self) -> None:
        """Upload what has changed; returns when it is durable.

        Raises:
            StateError: Another process has claimed the state.
            EnvironmentSetupError: The store does not answer, or refuses; restart the process.
        """
        self._upload(ended=False, alone=False)

    def end(self) -> None:
        """Upload what has changed, for the last time; nothing if the state is not claimed.

        Raises:
            StateError: Another process has claimed the state.
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        if self._journal.claimed:
            self._upload(ended=True, alone=False)

    def abandon(self) -> None:
        """Leave what has changed, and say that nothing will be uploaded any more, if possible."""
        if self._journal.claimed:
            with suppress(StateError, EnvironmentSetupError):
                self._journal.append({}, (), ended=True)

    def erase(self) -> Sequence[str]:
        """As `end`, without a trace of deleted files; returns addresses where some may be left.

        Raises:
            StateError: Another process has claimed the state.
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        self._upload(ended=True, alone=True)
        return [f"{self._bucket.url}/{key}" for key in self._journal.unused()]

    def _upload(self, *, ended: bool, alone: bool) -> None:
        for _ in range(_TRIES):
            versions = self._versions()
            changed = [path for path, now in versions.items() if self._uploaded.get(path) != now]
            gone = [path for path in self._uploaded if path not in versions]
            if not changed and not gone and not ended:
                return
            with ThreadPoolExecutor(REQUESTS) as requests:
                contents = [*requests.map(self._send, changed)]
            files = {
                path: content for path, content in zip(changed, contents, strict=True) if content
            }
            if len(files) == len(changed):
                break
            # What a log that was seen needs is gone: look again, there is a later version of it.
            self._unused += [content.key for content in files.values() if content.key]
        else:
            raise StateError(
                f"The files in {self._directory} change faster than they can be uploaded. Restart "
                "the process."
            )
        self._journal.append(files, gone, ended=ended, alone=alone)
        self._uploaded = versions
        self._bucket.delete(self._unused)
        self._unused = []

    def _versions(self) -> dict[str, _Version]:
        """The files at a moment: those of the logs did not change while the others were listed."""
        while True:
            logs = self._logs()
            others = self._listed("")
            if logs == self._logs():
                return logs | others

    def _logs(self) -> dict[str, _Version]:
        found: dict[str, _Version] = {}
        for table in _names(self._directory / _TABLES):
            found |= self._listed(f"{_TABLES}/{table}/{_LOGS}/")
        return found

    def _listed(self, folder: str) -> dict[str, _Version]:
        """The files in a folder and those in it, without logs and what is not finished."""
        found: dict[str, _Version] = {}
        try:
            entries = [*os.scandir(self._directory / folder)]
        except FileNotFoundError:
            return found
        for entry in entries:
            name, path = entry.name, f"{folder}{entry.name}"
            if name.startswith(".") or name.endswith(".tmp") or (not folder and name in _LOCAL):
                continue
            # A commit never changes, so an epoch need not look at all of them.
            if folder.endswith(f"{_LOGS}/") and name.endswith(".json") and path in self._uploaded:
                found[path] = self._uploaded[path]
            elif not entry.is_dir():
                with suppress(FileNotFoundError):
                    found[path] = _Version.of(entry.stat())
            elif name != _LOGS:
                found |= self._listed(f"{path}/")
        return found

    def _send(self, path: str) -> Content | None:
        """Upload a file; None if there is none any more."""
        file = self._directory / path
        try:
            if file.stat().st_size <= INLINE:
                data = file.read_bytes()
                return Content(seal.digest(data), data=data)
            digest = _digest(file)
            key = f"{FILES}/{uuid.uuid4().hex}"
            self._bucket.upload(key, file)
        except FileNotFoundError:
            return None
        return Content(digest, key)

    def _fetch(self, path: str) -> None:
        """Make a file of the directory that of the store."""
        place, content = Path(path), self._journal.files[path]
        if place.is_absolute() or ".." in place.parts:
            raise StateError(
                f"The state in {self._bucket.url} names the file {path}. {log.RESTORE}"
            )
        file = self._directory / place
        if file.is_file() and _digest(file) == content.digest:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f"_{file.name}.tmp")
        if not content.key:
            partial.write_bytes(content.data)
        elif not self._bucket.download(content.key, partial):
            raise FileNotFoundError(content.key)
        if _digest(partial) != content.digest:
            raise StateError(
                f"The object {content.key} in {self._bucket.url}, which is the file {path} of the "
                f"state, is damaged. {log.RESTORE}"
            )
        partial.replace(file)

    def _refuse_another(self) -> None:
        """Refuse to replace a state that is not a copy of this one."""
        if store_of(self._directory) == self._bucket.url:
            return
        if any(log.exists(table) for table in (self._directory / _TABLES).glob("*")):
            raise StateError(
                f"{self._directory} (state.directory) has a state, and {self._bucket.url} "
                "(state.object_store) has another one. Name an empty directory, or a new address."
            )


def check_directory(directory: Path) -> None:
    """Refuse to work on the copy of a store as if it were the state.

    Raises:
        EnvironmentSetupError: It is such a copy.
    """
    url = store_of(directory)
    if url is not None:
        raise EnvironmentSetupError(
            f"{directory} (state.directory) is the copy of the state in {url}. Set "
            f"state.object_store to that address; or, to go on without it, delete "
            f"{directory / MARK}."
        )


def store_of(directory: Path) -> str | None:
    """The address of the store that a directory is the copy of, None if it is none."""
    with suppress(FileNotFoundError):
        return (directory / MARK).read_text(encoding="utf-8").strip()
    return None


def _files(directory: Path) -> Iterator[str]:
    """Every file of a state directory that is not the machine's own."""
    for folder, folders, files in os.walk(directory):
        here = Path(folder).relative_to(directory)
        if here == Path():
            folders[:] = [each for each in folders if each not in _LOCAL]
            files = [each for each in files if each not in _LOCAL]  # noqa: PLW2901
        yield from (str(here / name) for name in files)


def _delete_empty(directory: Path) -> None:
    """Delete folders without files: some mean something by being there."""
    for folder, *_ in os.walk(directory, topdown=False):
        with suppress(OSError):
            Path(folder).rmdir()


def _names(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()] if directory.is_dir() else []


def _digest(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
