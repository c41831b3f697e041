"""Rule texts from files. Invariant: errors are described in words, never by an errno."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang import limits

if TYPE_CHECKING:
    from pathlib import Path


def read_file(path: Path) -> str:
    """Return the text of a rule file, without a byte order mark.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is too large or not UTF-8, or the path is invalid; `reason` describes which.
    """
    if path.stat().st_size > limits.FILE_BYTES:
        raise ValueError(
            f"it has more than {limits.FILE_BYTES:,} bytes; "
            "put its facts into a file of facts, or its rules into several files"
        )
    return path.read_text(encoding="utf-8-sig")


def reason(error: OSError | ValueError) -> str:
    """Return an error of `read_file` as a predicate: `cannot be read: ...`."""
    match error:
        case UnicodeDecodeError():
            return f"is not UTF-8 text (byte {error.start}); save it as UTF-8"
        case OSError():
            return f"cannot be read: {error.strerror}"
        case _:
            return f"cannot be read: {error}"
