"""Messages of lines. Invariant: a message is read up to its first mistake, which rejects it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.io.formats.reading.format import LINE, EncodedUpdates, place
from streamreasoner.io.formats.reading.scan import Scan, by_graph
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.rdf.kernels import line_scanner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.reading.scan import Mistake, Syntax
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary


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

    rows, counts = Scan(dictionary, syntax, tell).texts(*messages.text())
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
