"""Aggregates of a head. Invariant: a min or max is a lattice exactly where it is alone in its head.

Only the best of the facts of a lattice that agree on the other arguments is present. Every other
combination of aggregates is computed once the strata below are complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Aggregate
from streamreasoner.values.builtins import MONOTONE_AGGREGATES

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Atom


def aggregates(head: Atom) -> tuple[Aggregate, ...]:
    """Return the aggregates of a head, in the order of its arguments."""
    return tuple(item for item in head.arguments if isinstance(item, Aggregate))


def is_lattice(head: Atom) -> bool:
    """Whether a head chooses the best of its own facts, so that it may be recursive."""
    items = aggregates(head)
    return len(items) == 1 and items[0].function in MONOTONE_AGGREGATES
