"""Durable file writes, and deletions. Invariant: readers never see a half-written file."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from _typeshed import ReadableBuffer


def sync(path: Path) -> None:
    """Flush a file, or the entries of a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write(path: Path, data: ReadableBuffer) -> None:
    """Atomically write or replace a file, flushed; its directory entry is not flushed."""
    temporary = _temporary(path)
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def replace(path: Path, data: bytes) -> None:
    """Atomically write or replace a file without flushing: a power cut may lose or empty it."""
    temporary = _temporary(path)
    temporary.write_bytes(data)
    temporary.replace(path)


def delete(paths: Iterable[Path]) -> list[Path]:
    """Delete files and folders; returns those that existed. Directory entries are not flushed.

    Raises:
        OSError: One cannot be deleted.
    """
    deleted = []
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
        else:
            continue
        deleted.append(path)
    return deleted


def _temporary(path: Path) -> Path:
    return path.with_name(f"_{path.name}.tmp")
