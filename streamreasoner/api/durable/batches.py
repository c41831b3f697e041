"""Which batches of streams a state has. Invariant: a batch is an epoch once, or is refused.

The offsets of each epoch say, for each stream and for each query of Spark that read it, which
batches the epoch is: `[n, n + 1]` for batch n, `[n, n]` for none after those before n. So the last
epoch tells what the state has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.errors import StateError

if TYPE_CHECKING:
    from streamreasoner.state.record import Offsets


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of a stream.

    Attributes:
        stream: The name of the stream.
        query: Which query of Spark reads it: an id that its checkpoint has.
        number: Its number, from 0 on.
    """

    stream: str
    query: str
    number: int


def is_known(batch: Batch, positions: Offsets) -> bool:
    """Whether a state has a batch already.

    Args:
        batch: The batch.
        positions: The offsets of the last epoch of the state.

    Raises:
        StateError: It is not the one that follows, nor the last one.
    """
    stream = positions.get(batch.stream, {})
    if stream and batch.query not in stream:
        raise StateError(
            f"The state has batches of the stream {batch.stream!r} that another query has read: "
            "this one has a new checkpoint, and may read its source from the beginning, so that "
            "updates would count twice. Restore the checkpoint, begin a new state, or give the "
            "stream another name if it has other input."
        )
    following = stream.get(batch.query, [0, 0])[1]
    if batch.number not in {following, following - 1}:
        what = "ahead of" if batch.number > following else "behind"
        raise StateError(
            f"The checkpoint is {what} the state: batch {batch.number} of the stream "
            f"{batch.stream!r} was read, and the state awaits batch {following}. Restore both as "
            "of the same time, or begin a new state with a new checkpoint."
        )
    return batch.number < following


def after(positions: Offsets, batch: Batch | None) -> Offsets:
    """The offsets of an epoch.

    Args:
        positions: The offsets of the epoch before it.
        batch: Which batch it is, None if it is none.
    """
    known = {
        stream: {query: [following, following] for query, (_, following) in queries.items()}
        for stream, queries in positions.items()
    }
    if batch is not None:
        known[batch.stream] = {batch.query: [batch.number, batch.number + 1]}
    return known
