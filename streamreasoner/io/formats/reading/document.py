"""The bytes of a document, decompressed. Invariant: what cannot be read is a `DataError`."""

from __future__ import annotations

import io
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading.compression import ERRORS, opened_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamreasoner.io.formats.reading.lines import BadLine

Source: TypeAlias = "str | Path | Iterable[bytes]"
"""A path, or the bytes of a document in chunks of any size."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document of facts, and how to read it.

    Attributes:
        source: Its path, compressed or not, or its bytes.
        name: Its name in errors if the source is not a path.
        bad_lines: Collects bad lines of N-Triples and N-Quads; when None, the first one raises.
            Turtle and CSV always raise, because what follows an error cannot be trusted.
        header: Whether the first record of CSV is a header, not a fact.
        base: The IRI that relative ones are resolved against; None for the address of the file,
            of which bytes have none.
    """

    source: Source
    name: str = "<input>"
    bad_lines: list[BadLine] | None = None
    header: bool = False
    base: str | None = None

    @property
    def base_iri(self) -> str | None:
        """What relative IRIs are resolved against; None if they are refused."""
        if self.base is None and isinstance(self.source, str | Path):
            return Path(self.source).absolute().as_uri()
        return self.base


def open_bytes(path: Path) -> io.RawIOBase:
    """Open a file for reading bytes, decompressed as its suffix says.

    Raises:
        DataError: It does not exist or cannot be opened.
    """
    try:
        return opened_file(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror or error}).") from None
    except EOFError as error:
        raise DataError(f"{path}: cannot be read ({error}).") from None


def opened(source: Source, name: str) -> tuple[io.RawIOBase, str]:
    """The bytes of a source, and its name in errors.

    Raises:
        DataError: It is a file that cannot be opened.
    """
    if isinstance(source, str | Path):
        return open_bytes(Path(source)), str(Path(source))
    return ChunkStream(iter(source)), name


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Report what goes wrong when bytes are read or decompressed."""
    try:
        yield
    except ERRORS as error:
        raise DataError(f"{name}: cannot be read ({error}).") from None


class ChunkStream(io.RawIOBase):
    """A readable stream over chunks of bytes of any size."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read into the beginning of the buffer; returns the number of bytes, 0 at the end."""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        copied = min(len(self._rest), len(buffer))
        buffer[:copied] = self._rest[:copied]
        self._rest = self._rest[copied:]
        return copied
