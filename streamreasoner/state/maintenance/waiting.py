"""Updates that wait, in a state that does not run. Invariant: none of them is lost unnoticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.counts import counted
from streamreasoner.errors import StateError
from streamreasoner.state import restore, schemas
from streamreasoner.state.delta.held import HeldTable

if TYPE_CHECKING:
    from pathlib import Path

_BEFORE_ALL = -(1 << 62)


def check_none_waits(directory: Path, last: int, what: str) -> None:
    """Refuse to go on while updates wait for their slots of event time.

    Args:
        directory: Directory of the tables.
        last: The last epoch.
        what: What would leave them out, as the start of a sentence.

    Raises:
        StateError: Some wait, or a table is damaged.
    """
    if schemas.WAITING not in schemas.names(directory):
        return
    record = HeldTable(directory / schemas.TRACE).snapshot().record(last)
    frontier = None if record is None else record.frontier
    after = _BEFORE_ALL if frontier is None else frontier
    count = len(restore.waiting(HeldTable(directory / schemas.WAITING), last + 1, after))
    if count:
        raise StateError(
            f"{what} does not know {counted(count, 'update')} whose slots event time has not "
            "passed. Start the pipeline, and let each partition of the input have a message or "
            "tick of a later time, until streamreasoner_waiting_updates is 0. Then stop it and try "
            "again."
        )
