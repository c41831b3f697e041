"""Messages of rows of one table each, that of their topic. Invariant: a topic has one mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.io.formats.reading.diff_header import diff_headers
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.rows.mapped import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from streamreasoner.config.rows import RowMapping
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.rows.mapped import Values

    Numbered: TypeAlias = tuple[Iterable[Values], Iterable[int]]


def rows_of_topics(
    messages: Messages,
    reader: Callable[[RowMapping], Callable[[bytes], Numbered]],
    rejected: Rejections,
) -> list[Rows]:
    """The rows of messages, as their `diff` header says, by mapping in the order of these.

    Args:
        messages: The messages.
        reader: What reads the rows of a message: the values of each, and its number. Raises a
            `RejectedError`.
        rejected: Gets the messages that cannot be read, or whose topic has no mapping.
    """
    found = {
        each.topic: (Rows(each), reader(each))
        for each in messages.mappings
        if each.topic is not None
    }
    diff = diff_headers(messages, rejected)
    topics = messages.batch.column("topic").to_pylist()
    for row, topic, value, sign in zip(
        messages.rows.tolist(), topics, messages.values(), diff.tolist(), strict=True
    ):
        try:
            if topic not in found:
                raise unmapped(f"the topic {topic!r}", f'topic = "{topic}"')
            rows, read = found[topic]
            values, numbers = read(value)
        except RejectedError as error:
            rejected.setdefault(row, error)
            continue
        rows.values.extend(values)
        rows.numbers.extend(numbers)
        count = len(rows.values) - len(rows.messages)
        rows.messages.extend([row] * count)
        rows.diff.extend([sign] * count)
        rows.ts.extend([None] * count)
    return [rows for rows, _ in found.values()]


def unmapped(what: str, key: str) -> RejectedError:
    """The rejection of rows that the configuration does not map."""
    return RejectedError(
        Reason.NO_MAPPING,
        f"The configuration has no mapping for {what}; add one to [input.map] with {key}.",
    )
