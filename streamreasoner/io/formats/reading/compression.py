"""Compressed files, by suffix. Invariant: what expands without measure is refused as it is read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUFFIXES = (".gz", ".xz", ".bz2", ".zst")
"""Of compressed files of one document."""
ARCHIVE = ".zip"
"""Of archives of several documents."""
ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException)
"""What reading compressed bytes raises."""
# Facts shrink to a tenth or a fiftieth; a file made to fill a disk, to a thousandth and less.
_MOST_EXPANSION = 500
_UNCHECKED_BYTES = 64 << 20

_OPENERS: dict[str, Callable[[BinaryIO], object]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".xz": lzma.LZMAFile,
    ".bz2": bz2.BZ2File,
    ".zst": lambda raw: pa.CompressedInputStream(raw, "zstd"),
}


def opened_file(path: Path) -> io.RawIOBase:
    """Open a file for reading bytes, decompressed as its suffix says.

    Raises:
        OSError: It cannot be opened.
        EOFError: It is compressed and empty.
    """
    is_compressed = path.suffix in SUFFIXES
    if is_compressed and not path.stat().st_size:
        raise EOFError("it is empty, and not a compressed file")
    raw = path.open("rb", buffering=0)
    if not is_compressed:
        return raw
    stream = cast("io.RawIOBase", _OPENERS[path.suffix](cast("BinaryIO", raw)))
    return Decompressed(stream, raw.tell, raw)


class Decompressed(io.RawIOBase):
    """The bytes of a compressed stream, up to a measure.

    Args:
        stream: Decompresses.
        consumed: How many bytes it has read.
        raw: What it reads from, closed with it.
    """

    def __init__(self, stream: io.RawIOBase, consumed: Callable[[], int], raw: io.IOBase) -> None:
        self._stream, self._consumed, self._raw = stream, consumed, raw
        self._written = 0

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read into the beginning of the buffer; returns the number of bytes, 0 at the end.

        Raises:
            OSError: What was compressed is damaged, or expands too much.
        """
        count = self._stream.readinto(buffer) or 0
        self._written += count
        most = max(_UNCHECKED_BYTES, _MOST_EXPANSION * self._consumed())
        if self._written > most:
            raise OSError(
                f"it expands to more than {_MOST_EXPANSION} times its size, as files do that are"
                " made to fill a memory; if it is what you expect, decompress it yourself"
            )
        return count

    def close(self) -> None:
        """Close what it reads from, too."""
        self._stream.close()
        self._raw.close()
        super().close()
