"""Digests of what is on the disk. Invariant: sealed bytes are used only if they are as written.

A data file's digest is in the log entry that adds it. A sealed text carries its own: the digest of
itself with zeros in the digest's place, near its beginning.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

KEY: Final = "streamreasoner.sha256"
BLANK: Final = "0" * 64
"""Where the digest of a sealed text goes."""
_BEFORE: Final = f'"{KEY}": "'.encode()
_HEAD: Final = 64
"""Bytes within which a sealed text says that it is one; data files have digests further on."""


def digest(data: ReadableBuffer) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def sealed(text: str) -> bytes:
    """A JSON text whose first `KEY` has the value `BLANK`, with its digest in that place."""
    data = text.encode()
    return data.replace(BLANK.encode(), digest(data).encode(), 1)


def has_seal(data: bytes) -> bool:
    """Whether bytes claim to be a sealed text."""
    return _BEFORE in data[:_HEAD]


def intact(data: bytes) -> bool:
    """Whether a sealed text is as it was written."""
    if not has_seal(data):
        return False
    start = data.index(_BEFORE) + len(_BEFORE)
    end = start + len(BLANK)
    return data[start:end] == digest(data[:start] + BLANK.encode() + data[end:]).encode()
