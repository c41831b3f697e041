"""Which part owns a fact. Invariant: a hash of one argument tells, so all parts agree."""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.native.compile import inlined

GOLDEN = 2654435761
"""2**32 / golden ratio: ids that follow each other go to different parts."""


@inlined
def part_of(table: layout.Int64s, identifier: int) -> int:
    """The part that owns facts with this id in their owning argument."""
    hashed = (identifier * GOLDEN) & layout.LOW
    return (hashed * views.scalars(table)[layout.PARTS]) >> layout.HALF


@inlined
def owner_of(table: layout.Int64s, relation: int, cells: layout.Int32s, at: int) -> int:
    """The part that owns a fact."""
    position = views.owners(table)[relation]
    return 0 if position < 0 else part_of(table, cells[at + position])


@inlined
def is_copy(table: layout.Int64s, fact: int) -> bool:
    """Whether a fact is a copy, which a part reads and does not own."""
    relation = facts.field_of(table, fact, layout.CLASS_RELATION)
    return bool(views.logged(table)[relation] == layout.COPIED)


@inlined
def is_for_another(table: layout.Int64s, relation: int, cells: layout.Int32s, at: int) -> bool:
    """Whether another part owns a fact."""
    return bool(owner_of(table, relation, cells, at) != views.scalars(table)[layout.PART])
