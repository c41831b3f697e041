"""Messages in JSON as columns: a compiled scanner, and an exact path for what it refuses.

Invariant: both paths give the same updates, in the order of the messages. The scanner takes nearly
all messages of machines, without a Python object for each; it refuses, one by one, those with
mistakes, and rare forms of valid ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.errors import TermError
from streamreasoner.io.formats.reading.format import UpdateRows, place
from streamreasoner.io.formats.reading.json.scanned import scanned
from streamreasoner.io.formats.reading.json.updates import TripleMessage
from streamreasoner.io.formats.reading.timestamps import EventTimes
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.lang.ast import ARITIES, TRIPLE
from streamreasoner.rdf.terms import to_ntriples

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.json.scanned import Shape
    from streamreasoner.io.formats.reading.json.updates import FactMessage, Numbered
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections


def read_updates(
    messages: Messages,
    syntax: int,
    read: Callable[[bytes], Numbered],
    part: str,
    rejected: Rejections,
) -> list[UpdateRows]:
    """The updates of messages: triples, followed by the other facts by predicate.

    Args:
        messages: The messages.
        syntax: What they are, of `kernels.messages`.
        read: The exact path: reads the updates of a value; raises a `RejectedError`.
        part: What an update of a message is called in reasons.
        rejected: Gets the messages that cannot be read.
    """
    taken, fast = scanned(messages, syntax, part)
    exact = _read_exactly(messages, np.flatnonzero(~taken), read, part, rejected)
    return [
        _merged(fast[shape], exact[shape])
        if shape in fast and shape in exact
        else (fast.get(shape) or exact[shape])
        for shape in sorted({*fast, *exact})
    ]


@dataclass(slots=True)
class _Group:
    """Updates of one shape, with the row of the message of each, and its number in it."""

    rows: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    updates: list[TripleMessage | FactMessage] = field(default_factory=list)
    args: list[tuple[str, ...]] = field(default_factory=list)

    def columns(self, shape: Shape, part: str) -> UpdateRows:
        """The updates, as the scanner gives them."""
        _, predicate, arity = shape
        columns = zip(*self.args, strict=True) if arity else ()
        return UpdateRows(
            predicate,
            np.array(self.rows, dtype=np.int64),
            [pa.array(column, pa.large_string()) for column in columns],
            np.array([update.diff for update in self.updates], dtype=np.int64),
            EventTimes.of([update.ts for update in self.updates]),
            part,
            np.array(self.numbers, dtype=np.int32),
        )


def _read_exactly(
    messages: Messages,
    refused: NDArray[np.int64],
    read: Callable[[bytes], Numbered],
    part: str,
    rejected: Rejections,
) -> dict[Shape, UpdateRows]:
    """The updates of the messages that the scanner has refused."""
    groups: dict[Shape, _Group] = {}
    values = messages.batch.column("value").take(pa.array(refused)).to_pylist()
    for row, value in zip(messages.rows[refused].tolist(), values, strict=True):
        try:
            updates = [
                (number, update, _terms(update, part, number)) for number, update in read(value)
            ]
        except RejectedError as error:
            rejected[row] = error
            continue
        for number, update, args in updates:
            group = groups.setdefault(_shape(update), _Group())
            group.rows.append(row)
            group.numbers.append(number)
            group.updates.append(update)
            group.args.append(args)
    return {shape: group.columns(shape, part) for shape, group in groups.items()}


def _terms(update: TripleMessage | FactMessage, part: str, number: int) -> tuple[str, ...]:
    """The arguments of an update in N-Triples syntax.

    Raises:
        RejectedError: Python cannot write a number.
    """
    if isinstance(update, TripleMessage):
        return update.s, update.p, update.o
    try:
        return tuple(
            value if isinstance(value, str) else to_ntriples(value) for value in update.args
        )
    except TermError as error:
        detail = place(part, number) + str(error)
        raise RejectedError(Reason.NUMBER_OUT_OF_RANGE, detail) from None


def _shape(update: TripleMessage | FactMessage) -> Shape:
    if isinstance(update, TripleMessage):
        return False, TRIPLE, ARITIES[TRIPLE]
    return True, update.predicate, len(update.args)


def _merged(fast: UpdateRows, exact: UpdateRows) -> UpdateRows:
    """The updates of both paths in the order of their messages, which are different ones."""
    messages = np.concatenate([fast.messages, exact.messages])
    order = np.argsort(messages, kind="stable")
    behind = np.empty(len(order), dtype=np.int64)
    behind[order] = np.arange(len(order))
    written = {
        int(behind[len(fast.messages) + row]): time for row, time in exact.ts.written.items()
    }
    columns = zip(fast.args, exact.args, strict=True)
    return UpdateRows(
        fast.predicate,
        messages[order],
        [pa.concat_arrays(pair).take(pa.array(order)) for pair in columns],
        np.concatenate([fast.diff, exact.diff])[order],
        EventTimes(np.concatenate([fast.ts.read, exact.ts.read])[order], written),
        fast.part,
        np.concatenate([fast.parts, exact.parts])[order],
    )
