"""A copy of a state's facts, for readers. Invariant: a reader sees one whole epoch.

`Replica` opens the tables of a state, follows them while a pipeline writes to them, and hands out
snapshots. The pipeline's process is not involved.
"""

from __future__ import annotations

from streamreasoner.history.replica.replica import Replica
from streamreasoner.history.replica.snapshot import Snapshot

__all__ = ["Replica", "Snapshot"]
