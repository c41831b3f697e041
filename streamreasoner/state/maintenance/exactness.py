"""How far back tables are exact. Invariant: what is summed or deleted is recorded in its commit.

The record is a `txn` of Delta, which every writer carries on. A `trace` without one was written by
a release that summed epochs more than `TRACE_EPOCHS` old; it never deleted rows of `changes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.engine.updates import TRACE_EPOCHS
from streamreasoner.state import schemas

if TYPE_CHECKING:
    from streamreasoner.state.delta.snapshot import Snapshot


def exact_from(table: Snapshot, name: str, last: int) -> int:
    """The first epoch at whose end all rows of a table are as they were written; -1 for all.

    Args:
        table: A version of the table.
        name: Its name.
        last: Its last epoch.
    """
    recorded = table.exact_from
    if recorded is not None:
        return recorded
    lost = last - TRACE_EPOCHS if name == schemas.TRACE else schemas.NOTHING_SUMMED
    return max(lost, schemas.NOTHING_SUMMED)
