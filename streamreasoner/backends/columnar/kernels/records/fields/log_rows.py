"""Rows of the log of a load. Invariant: what one of these functions writes, the others read."""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.native.compile import inlined


@inlined
def write(
    rows: layout.Int64s,
    i: int,
    value: int,
    key: int,
    subtracted: int,
    iteration: int,
    lattice: int,
    multiplicity: int,
) -> None:
    """Write a row.

    Args:
        rows: The log.
        i: Number of the row.
        value: The value that is added.
        key: The key of its group.
        subtracted: The id + 1 of a value of the group that is subtracted as often, or 0.
        iteration: The iteration to add at.
        lattice: The lattice of the group.
        multiplicity: How often it is added.
    """
    low = (
        (iteration << layout.LOG_ITERATION_SHIFT)
        | (lattice << layout.LOG_LATTICE_SHIFT)
        | (multiplicity & layout.LOG_MULTIPLICITY_BITS)
    )
    rows[layout.LOG_WIDTH * i] = lists.pack(value, key)
    rows[layout.LOG_WIDTH * i + layout.LOG_SECOND] = lists.pack(subtracted, low)


@inlined
def set_group(rows: layout.Int64s, i: int, group: int) -> None:
    """Write a group in place of its key."""
    rows[layout.LOG_WIDTH * i] = lists.pack(value(rows, i), group)


@inlined
def value(rows: layout.Int64s, i: int) -> int:
    """The value that a row adds."""
    return lists.upper(rows[layout.LOG_WIDTH * i])


@inlined
def key(rows: layout.Int64s, i: int) -> int:
    """The key of the group of a row; the group itself if it is absorbed."""
    return lists.lower(rows[layout.LOG_WIDTH * i])


@inlined
def subtracted(rows: layout.Int64s, i: int) -> int:
    """The id + 1 of the value that a row subtracts, or 0."""
    return lists.upper(rows[layout.LOG_WIDTH * i + layout.LOG_SECOND])


@inlined
def iteration(rows: layout.Int64s, i: int) -> int:
    """The iteration of a row."""
    low = lists.lower(rows[layout.LOG_WIDTH * i + layout.LOG_SECOND])
    return low >> layout.LOG_ITERATION_SHIFT


@inlined
def lattice(rows: layout.Int64s, i: int) -> int:
    """The lattice of a row."""
    second = rows[layout.LOG_WIDTH * i + layout.LOG_SECOND]
    return (second >> layout.LOG_LATTICE_SHIFT) & (layout.LOG_LATTICES_MOST - 1)


@inlined
def multiplicity(rows: layout.Int64s, i: int) -> int:
    """The multiplicity of a row."""
    low = rows[layout.LOG_WIDTH * i + layout.LOG_SECOND] & layout.LOG_MULTIPLICITY_BITS
    return (low ^ layout.LOG_MULTIPLICITY) - layout.LOG_MULTIPLICITY


@inlined
def copy(source: layout.Int64s, i: int, target: layout.Int64s, j: int) -> None:
    """Make row *j* of another log the same as row *i*."""
    for word in range(layout.LOG_WIDTH):
        target[layout.LOG_WIDTH * j + word] = source[layout.LOG_WIDTH * i + word]


@inlined
def fields_at(group: int) -> int:
    """The unit where the fields of a group in the log start: its key is one id."""
    return group + facts.group_units(1)


@inlined
def field(table: layout.Int64s, lattice: int, field: int) -> int:
    """What a lattice in the log has in a field, such as LOGGED_SIGN."""
    return views.log_lattices(table)[layout.LOGGED_WIDTH * lattice + field]


@inlined
def lattice_of(table: layout.Int64s, relation: int) -> int:
    """The lattice whose heads are those of a relation, less than 0 if they are not logged."""
    return views.logged(table)[relation] - 1
