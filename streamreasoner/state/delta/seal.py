"""SHA-256 digests of files on disk. Invariant: sealed bytes are used only after verification.

A data file's digest is in the log entry that adds it. A sealed text carries its own digest near its
beginning, computed with zeros in the digest's place.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed import ReadableBuffer

KEY: Final = "streamreasoner.sha256"
BLANK: Final = "0" * 64
"""Placeholder for the digest of a sealed text."""
_BEFORE: Final = f'"{KEY}": "'.encode()
_HEAD: Final = 64
"""Bytes within which the key of a seal begins; digests of data files come later in a commit."""


def digest(data: ReadableBuffer) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def digest_of(chunks: Iterable[ReadableBuffer]) -> str:
    """The same of a file that is read in chunks."""
    sha = hashlib.sha256()
    for chunk in chunks:
        sha.update(chunk)
    return sha.hexdigest()


def sealed(text: str) -> bytes:
    """Seal a JSON text whose first `KEY` has the value `BLANK`: put its digest there."""
    data = text.encode()
    return data.replace(BLANK.encode(), digest(data).encode(), 1)


def has_seal(data: bytes) -> bool:
    """Whether the bytes begin like a sealed text."""
    return _BEFORE in data[:_HEAD]


def intact(data: bytes) -> bool:
    """Whether a sealed text matches its digest."""
    if not has_seal(data):
        return False
    start = data.index(_BEFORE) + len(_BEFORE)
    end = start + len(BLANK)
    return data[start:end] == digest(data[:start] + BLANK.encode() + data[end:]).encode()
