"""Lines of terms as ids: a compiled scanner, and an exact path for what it leaves.

Invariant: both paths give the same rows; the scanner takes nearly all lines of machines. Those that
it cannot encode (numeric escapes, comments, upper-case language tags, mistakes) go one by one, in
order, to the exact path of their format.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading import lines
from streamreasoner.lang.ast import bracketed
from streamreasoner.rdf.kernels import hash_table, line_scanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from streamreasoner.rdf.dictionary import Dictionary

DEFAULT_GRAPH = hash_table.ABSENT
"""The id in the column of graphs of a row that has none."""

# The shortest row of any syntax is `A : :"".`, which needs no line of its own.
_SHORTEST_LINE = 8
_NONE = -1

Row: TypeAlias = "tuple[int, tuple[str, ...]]"
"""The sign of a line, and its three or four canonical terms."""


class Syntax(Protocol):
    """How lines that the scanner leaves are read; has the state of one text."""

    @property
    def scanned(self) -> int:
        """The lines that the scanner reads, as bits of `line_scanner`."""

    @property
    def is_open(self) -> bool:
        """Whether what a line began goes on in the next one, which the scanner cannot know."""

    def begin(self) -> None:
        """A new text begins."""

    def read(self, line: bytes, rows: int) -> tuple[int, list[Row]]:
        """Read a line, without its line feed.

        Args:
            line: The line.
            rows: How many rows the texts have so far.

        Returns:
            How many of them stay, and the rows of the line, which may contain carriage returns.

        Raises:
            DataError: The reason, in one sentence.
        """

    def end(self) -> None:
        """The text ends.

        Raises:
            DataError: It is not complete.
        """


class NTriples:
    """Lines of RDF 1.1 N-Triples."""

    scanned = 0
    is_open = False

    def begin(self) -> None:
        """Lines depend on no other."""

    def end(self) -> None:
        """Every end is complete."""

    def read(self, line: bytes, rows: int) -> tuple[int, list[Row]]:
        """See `Syntax`."""
        return rows, [(1, terms) for terms in lines.triples(line)]


class NQuads(NTriples):
    """Lines of RDF 1.1 N-Quads."""

    scanned = line_scanner.GRAPHS

    def read(self, line: bytes, rows: int) -> tuple[int, list[Row]]:
        """See `Syntax`."""
        return rows, [(1, terms) for terms in lines.quads(line)]


@dataclass(frozen=True, slots=True, eq=False)
class Mistake:
    """Why a text is not in its format.

    Attributes:
        text: Number of the text.
        line: Number of the line, from 1; 0 for the end of the text.
        reason: One sentence.
    """

    text: int
    line: int
    reason: str


def by_graph(rows: NDArray[np.int32]) -> Iterator[tuple[str, int, NDArray[np.bool_]]]:
    """Rows that are triples and those that are quads: predicate, arity, and which rows."""
    has_graph = rows[:, line_scanner.GRAPH] != DEFAULT_GRAPH
    for arity, chosen in ((line_scanner.GRAPH, ~has_graph), (line_scanner.GRAPH + 1, has_graph)):
        if chosen.any():
            yield bracketed(arity), arity, chosen


class Scan:
    """A scanner and its memory.

    Args:
        dictionary: Encodes the terms; new ones are added.
        syntax: The format of the lines.
        tell: Is told of mistakes; returns whether the text goes on with the next line.
    """

    def __init__(
        self, dictionary: Dictionary, syntax: Syntax, tell: Callable[[Mistake], bool]
    ) -> None:
        self._dictionary = dictionary
        self._syntax = syntax
        self._tell = tell
        self._rows = np.empty((0, line_scanner.ROW_LENGTH), dtype=np.int32)
        self._lines = 0
        self._begun = _NONE
        self._is_whole = False

    def texts(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Read whole texts. Those with mistakes have rows too, of the lines before.

        Args:
            data: Bytes with the texts.
            starts: Where each text starts, int64 of shape (n,), ascending.
            ends: Where each text ends, int64 of shape (n,).

        Returns:
            Rows with the columns of `line_scanner`, int32 of shape (m, 6), valid until the next
            call; and how many there are up to the end of each text, int64 of shape (n,).

        Raises:
            EngineError: The dictionary is full.
        """
        self._lines = 0
        self._is_whole = True
        counts = np.zeros(len(ends), dtype=np.int64)
        rows = self._read(data, starts, ends, counts)
        self._end()
        return rows, counts

    def piece(self, data: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Read the next lines, whole ones, of the one text that all calls read.

        Returns:
            Rows with the columns of `line_scanner`, int32 of shape (m, 6), valid until the next
            call.

        Raises:
            EngineError: The dictionary is full.
        """
        bounds = np.array([0, len(data)], dtype=np.int64)
        return self._read(data, bounds[:1], bounds[1:], np.zeros(1, dtype=np.int64))

    def _read(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        most = (int((ends - starts).sum()) + len(ends)) // _SHORTEST_LINE + 1
        if len(self._rows) < most:
            self._rows = np.empty((most, line_scanner.ROW_LENGTH), dtype=np.int32)
        cursor = np.zeros(line_scanner.CURSOR_LENGTH, dtype=np.int64)
        cursor[line_scanner.OFFSET] = starts[0]
        cursor[line_scanner.LINES] = self._lines
        while True:
            if self._syntax.is_open and self._goes_on(data, ends, cursor):
                continue
            status = line_scanner.scan(
                self._dictionary.header,
                cursor,
                data.ctypes.data,
                starts,
                ends,
                self._syntax.scanned,
                self._rows,
                counts,
            )
            if status == hash_table.FULL:
                self._dictionary.grow()
            elif status == hash_table.UNCERTAIN:
                self._read_line(data, int(ends[cursor[line_scanner.TEXT]]), cursor)
            else:
                self._lines = int(cursor[line_scanner.LINES])
                return self._rows[: cursor[line_scanner.ROWS]]

    def _goes_on(
        self, data: NDArray[np.uint8], ends: NDArray[np.int64], cursor: NDArray[np.int64]
    ) -> bool:
        """Read the next line of the text that is open, if there is one."""
        if self._begun == _NONE:
            return False
        end = int(ends[self._begun])
        if cursor[line_scanner.TEXT] == self._begun and cursor[line_scanner.OFFSET] < end:
            self._read_line(data, end, cursor)
            return True
        if self._is_whole:
            self._end()
        return False

    def _read_line(self, data: NDArray[np.uint8], end: int, cursor: NDArray[np.int64]) -> None:
        """Read the line at the cursor on the exact path."""
        text = int(cursor[line_scanner.TEXT])
        if text != self._begun:
            self._end()
            self._syntax.begin()
            self._begun = text
        start = int(cursor[line_scanner.OFFSET])
        line = data[start : _line_end(data, start, end)].tobytes()
        is_first = cursor[line_scanner.LINES] == 0
        cursor[line_scanner.OFFSET] = start + len(line) + 1
        cursor[line_scanner.LINES] += 1
        try:
            whole = line.removeprefix(BOM_UTF8) if is_first else line
            kept, rows = self._syntax.read(whole, int(cursor[line_scanner.ROWS]))
        except DataError as error:
            if not self._tell(Mistake(text, int(cursor[line_scanner.LINES]), str(error))):
                cursor[line_scanner.OFFSET] = end
                self._begun = _NONE
            return
        cursor[line_scanner.ROWS] = kept
        for sign, terms in rows:
            ids = [self._dictionary.intern(term) for term in terms]
            graph = ids[3:] or [DEFAULT_GRAPH]
            row = [*ids[:3], *graph, sign, cursor[line_scanner.LINES]]
            self._rows[cursor[line_scanner.ROWS]] = row
            cursor[line_scanner.ROWS] += 1

    def _end(self) -> None:
        """End the text of which the exact path has read a line, if there is one."""
        text, self._begun = self._begun, _NONE
        if text == _NONE:
            return
        try:
            self._syntax.end()
        except DataError as error:
            self._tell(Mistake(text, 0, str(error)))


def _line_end(data: NDArray[np.uint8], start: int, end: int) -> int:
    """Where the line ends that starts at `start`."""
    width = 256
    while start + width < end:
        newline = data[start : start + width].tobytes().find(b"\n")
        if newline >= 0:
            return start + newline
        width *= 4
    newline = data[start:end].tobytes().find(b"\n")
    return end if newline < 0 else start + newline
