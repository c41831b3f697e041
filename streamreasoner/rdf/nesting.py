"""How deep a text nests. Invariant: what could overflow the stack of pyoxigraph is refused before.

pyoxigraph evaluates nested objects of JSON-LD and nested triple terms by recursion, which ends the
process some thousand levels deep. So no term is nested deeper, wherever it comes from: it could not
be written as Turtle.
"""

from __future__ import annotations

import io
import re

from streamreasoner.errors import DataError

DEEPEST = 500
"""The most levels of a text, and of triple terms in a term."""
TOO_DEEP = f"it is nested more than {DEEPEST} levels deep"
JSON = re.compile(rb'[\[{]|[\]}]|"[^"\\]*+(?:\\.[^"\\]*+)*+"|"', re.DOTALL)
"""Brackets of JSON, and strings, in which there are none; the last may have no end yet."""
TRIPLE_TERMS = re.compile(rb"<<\(|\)>>")
"""Those of Turtle and TriG. RDF 1.1 has none, so it need not be known what is in a string."""
_OPENING, _CLOSING, _UNENDED = b"{[<", b"}])", b'"'
_LONGEST_TOKEN = 3


class Nesting:
    """The depth of a text that comes in chunks.

    Args:
        tokens: `JSON` or `TRIPLE_TERMS`.
    """

    def __init__(self, tokens: re.Pattern[bytes]) -> None:
        self._tokens = tokens
        self._depth = 0
        self._rest = b""

    def is_too_deep(self, chunk: bytes) -> bool:
        """Whether the text is nested too deeply somewhere up to the end of a chunk."""
        text, read = self._rest + chunk, 0
        for match in self._tokens.finditer(text):
            if match[0] == _UNENDED:
                break
            read = match.end()
            if match[0][:1] in _OPENING:
                self._depth += 1
                if self._depth > DEEPEST:
                    return True
            elif match[0][:1] in _CLOSING:
                self._depth = max(self._depth - 1, 0)
        else:
            # Of a token that is not complete, all but its last byte may be there.
            read = max(read, len(text) - _LONGEST_TOKEN + 1)
        self._rest = text[read:]
        return False


class Shallow(io.RawIOBase):
    """A stream that is not nested too deeply.

    Args:
        stream: Where the bytes come from.
        tokens: See `Nesting`.
        name: Its name in errors.
    """

    def __init__(self, stream: io.RawIOBase, tokens: re.Pattern[bytes], name: str) -> None:
        self._stream, self._nesting, self._name = stream, Nesting(tokens), name

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read into the beginning of the buffer; returns the number of bytes, 0 at the end.

        Raises:
            DataError: What was read is nested too deeply.
        """
        count = self._stream.readinto(buffer) or 0
        if self._nesting.is_too_deep(bytes(buffer[:count])):
            raise DataError(f"{self._name}: cannot be read: {TOO_DEEP}.")
        return count
