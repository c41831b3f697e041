"""Text offsets to lines and columns. Invariant: both count from 1; a newline ends a line."""

from __future__ import annotations

import re
from bisect import bisect_left

from streamreasoner.lang.ast import Span


class Places:
    """The lines of one text."""

    def __init__(self, source: str, text: str) -> None:
        self._source = source
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def span(self, start: int, end: int) -> Span:
        """Return the span from one offset to another."""
        line, column = self._place(start)
        if line < len(self._starts) and end > self._starts[line]:
            return Span(self._source, line, column, *self._place(end), start, end)
        return Span(self._source, line, column, line, column + end - start, start, end)

    def _place(self, offset: int) -> tuple[int, int]:
        line = max(bisect_left(self._starts, offset + 1), 1)
        return line, offset - self._starts[line - 1] + 1
