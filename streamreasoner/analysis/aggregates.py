"""Aggregates of a head. Invariant: a min or max is a lattice exactly where it is alone in its head.

Of the facts of a lattice that agree on the other arguments only the best is present. Every other
combination of aggregates is computed once the facts below it are complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Aggregate
from streamreasoner.lang.builtins import MONOTONE_AGGREGATES

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Atom


def aggregates(head: Atom) -> tuple[Aggregate, ...]:
    """Return the aggregates of a head, in the order of its arguments."""
    return tuple(item for item in head.arguments if isinstance(item, Aggregate))


def is_lattice(head: Atom) -> bool:
    """Whether a head chooses the best of its own facts, so that it may be recursive."""
    found = aggregates(head)
    return len(found) == 1 and found[0].function in MONOTONE_AGGREGATES
