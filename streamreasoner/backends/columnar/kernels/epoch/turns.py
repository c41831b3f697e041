"""Steps of all parts, in turns. Invariant: they are those that parts take at the same time.

An epoch of a few facts takes microseconds, so that a call for each part and step would take longer
than all of them. What is returned is a status, and which part has met it: `status + STATUSES * i`.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.epoch.journal import commit
from streamreasoner.backends.columnar.kernels.joining.derive import derive
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import views
from streamreasoner.backends.columnar.kernels.records.parts.outbox import clear_outbox
from streamreasoner.backends.columnar.kernels.settling.exchange import fetch_changes, fetch_heads
from streamreasoner.backends.columnar.kernels.settling.settle import enter, next_touched, settle
from streamreasoner.native.addresses import int64_column
from streamreasoner.native.compile import kernel

STATUSES = 16


@kernel
def enter_all(parts: layout.Int64s, stratum: int) -> None:
    """Start a stratum in each part; *parts* has the addresses of their address tables."""
    for i in range(len(parts)):
        enter(int64_column(parts[i]), stratum)


@kernel
def next_touched_all(parts: layout.Int64s, after: int) -> int:
    """The first iteration after *after* with something to settle in a part, or -1."""
    first = -1
    for i in range(len(parts)):
        found = next_touched(int64_column(parts[i]), after)
        if found >= 0 and (first < 0 or found < first):
            first = found
    return first


@kernel
def settle_all(parts: layout.Int64s, values: layout.Int64s, iteration: int) -> int:
    """Settle an iteration, and change copies; returns a status, with the part."""
    for i in range(len(parts)):
        status = settle_part(int64_column(parts[i]), values, iteration)
        if status != layout.OK:
            return status + STATUSES * i
    for i in range(len(parts)):
        status = fetch_all_changes(parts, i, iteration)
        if status != layout.OK:
            return status + STATUSES * i
    return layout.OK


@kernel
def derive_all(parts: layout.Int64s, values: layout.Int64s, iteration: int) -> int:
    """Apply the deltas, and fetch heads; returns a status, with the part."""
    for i in range(len(parts)):
        status = derive(int64_column(parts[i]), values, iteration)
        if status != layout.OK:
            return status + STATUSES * i
    return exchange_heads(parts)


@kernel
def delta_count(parts: layout.Int64s) -> int:
    """How many deltas wait to be joined, in all parts together."""
    count = 0
    for i in range(len(parts)):
        count += views.scalars(int64_column(parts[i]))[layout.DELTA_COUNT]
    return count


@kernel
def commit_all(parts: layout.Int64s) -> None:
    """Make the changes of an epoch final in each part."""
    for i in range(len(parts)):
        commit(int64_column(parts[i]))
        note_copies(int64_column(parts[i]))


@kernel
def note_copies(table: layout.Int64s) -> None:
    """Note how many copies there are, for a rollback."""
    scalars = views.scalars(table)
    for i in range(layout.COPY_COUNTS):
        scalars[layout.COPIED_BEFORE + i] = scalars[layout.COPIED_FACTS + i]


@kernel
def exchange_heads(parts: layout.Int64s) -> int:
    """Let each part fetch the heads that it owns; returns a status, with the part."""
    for i in range(len(parts)):
        status = fetch_all_heads(parts, i)
        if status != layout.OK:
            return status + STATUSES * i
    for i in range(len(parts)):
        clear_outbox(int64_column(parts[i]))
    return layout.OK


@kernel
def settle_part(table: layout.Int64s, values: layout.Int64s, iteration: int) -> int:
    """Settle an iteration, and note which deltas it has made; returns a status."""
    scalars = views.scalars(table)
    scalars[layout.SETTLED_FROM] = scalars[layout.DELTA_COUNT]
    status = settle(table, values, iteration)
    scalars[layout.SETTLED_TO] = scalars[layout.DELTA_COUNT]
    return status


@kernel
def fetch_all_changes(parts: layout.Int64s, i: int, iteration: int) -> int:
    """Let a part change its copies of what any part has settled; returns a status."""
    table = int64_column(parts[i])
    for j in range(len(parts)):
        status = fetch_changes(table, int64_column(parts[j]), iteration)
        if status != layout.OK:
            return status
    return layout.OK


@kernel
def fetch_all_heads(parts: layout.Int64s, i: int) -> int:
    """Let a part add the heads of all others that it owns; returns a status."""
    table = int64_column(parts[i])
    for j in range(len(parts)):
        if j != i:
            status = fetch_heads(table, int64_column(parts[j]))
            if status != layout.OK:
                return status
    return layout.OK
