"""Messages of lines. Invariant: a message is read up to its first mistake, which rejects it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading.format import LINE, MAX_DIFF, EncodedUpdates, place
from streamreasoner.io.formats.reading.messages import header_values
from streamreasoner.io.formats.reading.scan import Row, Scan, by_graph
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.rdf.kernels import line_scanner
from streamreasoner.rdf.terms import holds_nul

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.reading.scan import Mistake, Syntax
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

DIFF_HEADER = "diff"
_INTEGER = re.compile(rb"[+-]?[0-9]{1,40}")


def read_lines(
    messages: Messages,
    dictionary: Dictionary,
    rejected: Rejections,
    syntax: Syntax,
    diff: NDArray[np.int64] | None = None,
) -> Iterator[EncodedUpdates]:
    """Triples and quads of messages; see `MessageReader`.

    Args:
        messages: The messages, at least one.
        dictionary: Encodes the terms; new ones are added, also those of rejected messages.
        rejected: Gets the messages that have a mistake.
        syntax: The format of the lines.
        diff: Multiplicity of the lines of each message, if they are not all signed ones.
    """
    factors = np.ones(len(messages), dtype=np.int64) if diff is None else diff

    def tell(mistake: Mistake) -> bool:
        detail = place(LINE, mistake.line) + mistake.reason
        error = RejectedError(Reason.MALFORMED_LINE, detail)
        rejected.setdefault(int(messages.rows[mistake.text]), error)
        return False

    rows, counts = Scan(dictionary, _WithoutNul(syntax), tell).texts(*messages.text())
    numbers = np.repeat(np.arange(len(messages)), np.diff(counts, prepend=0))
    for predicate, arity, chosen in by_graph(rows):
        of_messages = numbers[chosen]
        yield EncodedUpdates(
            predicate,
            messages.rows[of_messages],
            rows[chosen, :arity],
            rows[chosen, line_scanner.SIGN] * factors[of_messages],
            rows[chosen, line_scanner.LINE],
        )


def diff_headers(messages: Messages, rejected: Rejections) -> NDArray[np.int64]:
    """The multiplicity that each message has as its `diff` header; 1 without one."""
    diff = np.ones(len(messages), dtype=np.int64)
    numbers, indices, values = header_values(messages.batch, DIFF_HEADER)
    read = np.ones(len(values), dtype=np.int64)
    for index, value in enumerate(values):
        try:
            read[index] = _diff(value)
        except RejectedError as error:
            for row in messages.rows[numbers[indices == index]].tolist():
                rejected.setdefault(row, error)
    # Of several headers of a message the last one counts, and each must be valid.
    diff[numbers] = read[indices]
    return diff


def _diff(value: bytes) -> int:
    if _INTEGER.fullmatch(value) is None:
        shown = value[:60].decode("utf-8", "replace")
        raise RejectedError(
            Reason.WRONG_TYPE, f"The header {DIFF_HEADER} is {shown!r}; it must be an integer."
        )
    diff = int(value)
    if diff == 0:
        raise RejectedError(Reason.DIFF_ZERO, f"The header {DIFF_HEADER} must not be 0.")
    if abs(diff) > MAX_DIFF:
        raise RejectedError(
            Reason.DIFF_OUT_OF_RANGE,
            f"The header {DIFF_HEADER} is {diff}; it must be from -{MAX_DIFF} to {MAX_DIFF}.",
        )
    return diff


class _WithoutNul:
    """A syntax whose terms may not contain NUL; the scanner itself takes none."""

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax
        self.scanned = syntax.scanned
        self.begin = syntax.begin
        self.end = syntax.end

    def read(self, line: bytes, rows: int) -> tuple[int, list[Row]]:
        """See `Syntax`."""
        kept, read = self._syntax.read(line, rows)
        if any(holds_nul(term) for _, terms in read for term in terms):
            raise DataError("A term contains the character NUL.")
        return kept, read
