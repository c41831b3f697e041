"""Where a start continues. Invariant: what replay cannot explain is refused before anything runs.

Batch b passes three places in this order: Spark plans it (`offsets/b`), the tables take it
(durable step 1), the marker records it (2), Spark commits it (3, `commits/b`). A crash may fall
between any two, so at a start

    committed <= marker <= tables <= planned <= committed + 1

and the batch after the committed one is run again, with the range that was planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.errors import StateError
from streamreasoner.streaming.offsets import check_follows

if TYPE_CHECKING:
    from streamreasoner.streaming.offsets import Checkpoint
    from streamreasoner.streaming.ports import Offsets, Tables
    from streamreasoner.streaming.sink import Marker

_ADVICE = (
    "Restore the state directory, the checkpoint and the topics as they were at one moment, or "
    "begin anew: delete the state directory and the checkpoint and choose another pipeline.app_id."
)


@dataclass(frozen=True, slots=True)
class Resume:
    """Where to continue.

    Attributes:
        before: The first epoch to run; the state is that of the epochs below it.
        published: The last epoch whose changes are visible, -1 if none.
        previous: Input range of the epoch below `before`, None at the beginning.
    """

    before: int
    published: int
    previous: Offsets | None


def resume(
    marker: Marker | None, tables: Tables, checkpoint: Checkpoint, program_hash: str
) -> Resume:
    """Reconcile checkpoint, tables and progress topic.

    Raises:
        StateError: They disagree; says how, and what to do.
    """
    published = -1 if marker is None else marker.batch
    version = tables.version()
    stored = -1 if version is None else version
    committed, planned = checkpoint.committed, checkpoint.planned
    if not committed <= published <= stored <= planned:
        raise StateError(
            f"Checkpoint, tables and progress topic do not belong together: Spark has planned "
            f"batch {_batch(planned)} and committed {_batch(committed)}, the tables hold "
            f"{_batch(stored)}, published is {_batch(published)}. {_ADVICE}"
        )
    if marker is not None and marker.program_hash != program_hash:
        raise StateError(
            f"Epoch {published} was published by another rule program (hash "
            f"{marker.program_hash[:12]}, now {program_hash[:12]}). Run the program that the state "
            "belongs to, or begin anew with another pipeline.app_id and state.directory."
        )
    _check_ranges(marker, tables, checkpoint, stored)
    previous = tables.offsets(committed) if committed >= 0 else None
    return Resume(checkpoint.next, published, previous)


def _check_ranges(
    marker: Marker | None, tables: Tables, checkpoint: Checkpoint, stored: int
) -> None:
    """Batch ids that agree prove nothing: a new checkpoint counts from 0 again, over other data."""
    if marker is not None:
        _same(marker.batch, "the progress topic", marker.offsets, checkpoint)
    for epoch in {stored, checkpoint.committed} - {-1}:
        found = tables.offsets(epoch)
        if found is not None:
            _same(epoch, "the tables", found, checkpoint)
    previous = tables.offsets(checkpoint.committed) if checkpoint.committed >= 0 else None
    if previous is not None and checkpoint.planned > checkpoint.committed:
        check_follows(checkpoint.planned, previous, checkpoint.range(checkpoint.planned))


def _same(epoch: int, where: str, found: Offsets, checkpoint: Checkpoint) -> None:
    planned = checkpoint.range(epoch)
    if planned != found:
        raise StateError(
            f"Epoch {epoch} covers the offsets {found} according to {where}, but {planned} "
            f"according to the checkpoint {checkpoint.directory}. {_ADVICE}"
        )


def _batch(number: int) -> str:
    return "none" if number < 0 else str(number)
