"""Class-data archives: classes that one Java process has loaded are mapped by the next.

Invariant: an archive has its name only when it is complete. Java ignores one that does not match
its own version or class path, so a wrong archive costs time and changes nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from streamreasoner.system import jvm

if TYPE_CHECKING:
    from collections.abc import Sequence

# An archive of Spark's classes has 150 MB; those of older versions and class paths expire.
_KEPT = 4
_QUIET = "-Xlog:cds*=off"
_log = logging.getLogger(__name__)


class ClassData:
    """The archive for one Java runtime and class path, or the recording of it.

    The first process that exits by itself writes the archive. One process at a time records.

    Args:
        name: Readable part of the archive's name.
        java: The `java` command.
        class_path: All entries of the class path, in order.
        scratch: A directory on which the process may leave what it records.
    """

    def __init__(self, name: str, java: str, class_path: Sequence[Path], scratch: Path) -> None:
        self._name = name
        self._file = jvm.cache_directory() / f"{name}-{_digest(java, class_path)}.jsa"
        self._recorded = scratch / "classes.jsa"
        self._lock: IO[str] | None = None
        # Java archives nothing of a class path that has a folder.
        if not self._file.exists() and all(entry.is_file() for entry in class_path):
            self._lock = _claim(self._file.with_name(f".{name}.lock"))

    @property
    def recording(self) -> bool:
        """Whether the process writes an archive when it exits."""
        return self._lock is not None

    @property
    def flags(self) -> tuple[str, ...]:
        """What the `java` command is given to use the archive, or to record it."""
        if self.recording:
            return _QUIET, f"-XX:ArchiveClassesAtExit={self._recorded}"
        return self.flags_of_readers

    @property
    def flags_of_readers(self) -> tuple[str, ...]:
        """The same for a process that does not record."""
        if not self._file.exists():
            return ()
        with suppress(OSError):
            os.utime(self._file)
        return _QUIET, f"-XX:SharedArchiveFile={self._file}"

    def close(self, *, exited: bool) -> None:
        """Take over what the process has recorded; the second time does nothing.

        Args:
            exited: Whether the process exited by itself.
        """
        if self._lock is None:
            return
        with self._lock, suppress(OSError):
            if exited and self._recorded.is_file():
                self._take_over()
        self._lock = None
        self._recorded.unlink(missing_ok=True)

    def _take_over(self) -> None:
        descriptor, copy = tempfile.mkstemp(prefix=f".{self._name}-", dir=self._file.parent)
        os.close(descriptor)
        try:
            shutil.copyfile(self._recorded, copy)
            Path(copy).replace(self._file)
        finally:
            Path(copy).unlink(missing_ok=True)
        _log.info("Later starts read Java classes from %s.", self._file)
        archives = sorted(self._file.parent.glob(f"{self._name}-*.jsa"), key=_modified)
        for archive in archives[:-_KEPT]:
            archive.unlink(missing_ok=True)


def _digest(java: str, class_path: Sequence[Path]) -> str:
    """Of what decides whether Java accepts an archive: the runtime, and each entry as it is."""
    home = Path(java).resolve().parent.parent
    parts = [f"{path}:{_stamp(path)}" for path in (home / "lib" / "modules", *class_path)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}"


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _claim(path: Path) -> IO[str] | None:
    """The lock of who records; None if another process has it or the directory is read-only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", encoding="utf-8")
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
