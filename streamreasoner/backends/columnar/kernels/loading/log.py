"""The log of a load. Invariant: its rows are heads that no record has, in ascending iterations.

Most candidates of a lattice never win, and no join reads them. In a load they need not be looked up
one by one: their heads wait in a log, and each group keeps the best value among them, from which
the winners follow. When the log is full, and when its stratum is done, its rows are brought
together by group and added to the records of the group, which are then in the cache.

What no best value can tell, and what the log has no room for, is settled as usual, after all rows
have been added: see `contest`.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.loading.absorb import absorb
from streamreasoner.backends.columnar.kernels.loading.merge import merge
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import drop_group
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, log_rows, views
from streamreasoner.native.compile import inlined, kernel


@kernel
def begin(table: layout.Int64s, lattices: layout.Int32s) -> bool:
    """Log the heads of lattices in the present stratum; returns whether that is possible.

    It is if all their facts so far are asserted, and none of them negatively: then each is present.

    Args:
        table: The addresses, of a state that was empty before the epoch.
        lattices: Their rows.
    """
    scalars = views.scalars(table)
    logged = views.logged(table)
    logging = views.log_lattices(table)
    node = views.initial_heads(table)[scalars[layout.STRATUM]]
    while node != 0:
        fact = lists.touched_fact(table, node)
        entry = (
            facts.first_entry(fact) if facts.field_of(table, fact, layout.CLASS_LATTICE) != 0 else 0
        )
        while entry != 0:
            if facts.iteration(table, entry) != 0 or facts.multiplicity(table, entry) < 0:
                return False
            entry = facts.next_entry(table, entry)
        node = lists.next_touched_node(table, node)
    for i in range(len(lattices)):
        logging[i] = lattices[i]
    scalars[layout.LOGGING] = len(lattices) // layout.LOGGED_WIDTH
    for number in range(scalars[layout.LOGGING]):
        logged[logging[layout.LOGGED_WIDTH * number + layout.LOGGED_RELATION]] = number + 1
    return True


@inlined
def has_heads(table: layout.Int64s) -> bool:
    """Whether heads were logged, or had to be, that have not been settled."""
    scalars = views.scalars(table)
    waiting = scalars[layout.LOG_COUNT] != scalars[layout.LOG_ABSORBED]
    return bool(waiting or scalars[layout.LOG_FILLED] != 0 or scalars[layout.LOG_REFUSED] != 0)


@inlined
def is_full(table: layout.Int64s) -> bool:
    """Whether three quarters of the log are full: the rest is for the heads of one more delta."""
    return bool(
        4 * views.scalars(table)[layout.LOG_COUNT] > 3 * views.scalars(table)[layout.LOG_LIMIT]
    )


@kernel
def make_room(table: layout.Int64s) -> int:
    """Add all rows of the log to records; returns a status."""
    views.scalars(table)[layout.LOG_FILLED] = 1
    status = absorb(table)
    return merge(table) if status == layout.OK else status


@kernel
def end_log(table: layout.Int64s) -> int:
    """Add all rows to records, and stop logging; returns a status."""
    status = make_room(table)
    if status != layout.OK:
        return status
    groups = views.log_groups(table)
    for i in range(views.scalars(table)[layout.LOG_GROUP_COUNT]):
        _leave(views.units(table), lists.lower(groups[i]), views.scalars(table)[layout.EPOCH])
    _stop(table)
    return layout.OK


@kernel
def discard_log(table: layout.Int64s) -> None:
    """Drop all rows, and the groups that have no other candidates."""
    for i in range(views.scalars(table)[layout.LOG_GROUP_COUNT]):
        group = lists.lower(views.log_groups(table)[i])
        _leave(views.units(table), group, views.scalars(table)[layout.EPOCH])
        if facts.first_member(table, group) == 0:
            drop_group(table, group, layout.LATTICE_UNITS)
    _stop(table)


@inlined
def _leave(units: layout.Int64s, group: int, epoch: int) -> None:
    """Make a group one like any other that is settled in an epoch, which has no old winners."""
    at = log_rows.fields_at(group)
    units[at + layout.LATTICE_BEST] = 0
    units[at + layout.LATTICE_NEXT] = 0
    units[at + layout.LATTICE_EPOCH] = epoch
    units[at + layout.LATTICE_OLD] = 0
    units[at + layout.LATTICE_FLOOR] = 0


@kernel
def _stop(table: layout.Int64s) -> None:
    """Stop logging; the log is empty."""
    scalars = views.scalars(table)
    logged = views.logged(table)
    lattices = views.log_lattices(table)
    for number in range(scalars[layout.LOGGING]):
        logged[lattices[layout.LOGGED_WIDTH * number + layout.LOGGED_RELATION]] = 0
    scalars[layout.LOGGING] = 0
    scalars[layout.LOG_COUNT] = 0
    scalars[layout.LOG_ABSORBED] = 0
    scalars[layout.LOG_GROUP_COUNT] = 0
    scalars[layout.LOG_CHANGED_COUNT] = 0
    scalars[layout.LOG_REFUSED] = 0
    scalars[layout.LOG_FILLED] = 0
    scalars[layout.TARGET_STRIDE] = 0
