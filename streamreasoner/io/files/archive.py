"""The files of a ZIP archive. Invariant: a member is read as a file of its name would be."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, cast

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading.compression import ERRORS, Decompressed

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK = 1 << 20
_ENCRYPTED = 1
_METADATA = "__MACOSX"


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive.

    Attributes:
        archive: The archive.
        path: Its path in it.
    """

    archive: Path
    path: PurePosixPath

    @property
    def name(self) -> str:
        """What it is called in errors."""
        return f"{self.archive}/{self.path}"

    def chunks(self) -> Iterator[bytes]:
        """Its bytes.

        Raises:
            DataError: The archive is damaged, encrypted, or compressed in an unknown way.
        """
        try:
            with zipfile.ZipFile(self.archive) as archive:
                info = archive.getinfo(str(self.path))
                if info.flag_bits & _ENCRYPTED:
                    raise DataError(f"{self.name}: is encrypted. Decrypt the archive first.")
                stream = archive.open(info)
                size = info.compress_size
                with Decompressed(
                    cast("io.RawIOBase", stream), lambda: size, cast("io.IOBase", stream)
                ) as file:
                    while chunk := file.read(_CHUNK):
                        yield chunk
        except (*ERRORS, NotImplementedError, RuntimeError) as error:
            raise DataError(f"{self.name}: cannot be read ({error}).") from None


def members(archive: Path) -> list[Member]:
    """The files of an archive, sorted by path, but for what systems add.

    Raises:
        DataError: It cannot be opened.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            paths = [
                PurePosixPath(each.filename) for each in opened.infolist() if not each.is_dir()
            ]
    except OSError as error:
        raise DataError(f"{archive}: cannot be opened ({error.strerror or error}).") from None
    except (*ERRORS, NotImplementedError) as error:
        raise DataError(f"{archive}: is not a ZIP archive, or is cut off ({error}).") from None
    kept = [path for path in paths if _METADATA not in path.parts and not path.name.startswith(".")]
    return [Member(archive, path) for path in sorted(kept)]
