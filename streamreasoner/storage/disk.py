"""Files that last. Invariant: what returned is on the disk, and no file is seen half written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import ReadableBuffer


def sync(path: Path) -> None:
    """Flush one file, or the entries of one directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write(path: Path, data: ReadableBuffer) -> None:
    """Write a file, or replace it, at once; the entry of its directory is not flushed."""
    temporary = _temporary(path)
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def replace(path: Path, data: bytes) -> None:
    """Write a file, or replace it, at once, that may be lost or empty after a power cut."""
    temporary = _temporary(path)
    temporary.write_bytes(data)
    temporary.replace(path)


def _temporary(path: Path) -> Path:
    return path.with_name(f"_{path.name}.tmp")
