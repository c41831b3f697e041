"""Lookups that intersections answer. Invariant: one variable of each is left to bind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamreasoner.plan.algebra import Arrangement


@dataclass(frozen=True, slots=True)
class Sort:
    """Facts that are grouped by one argument and sorted by another."""

    arrangement: Arrangement
    position: int


@dataclass(frozen=True, slots=True)
class Crossing:
    """A lookup whose fact an earlier probe finds, by intersecting its group with that of the fact.

    Attributes:
        depth: Number of the probe, which binds the last variable of the lookup.
        probe: The facts that the probe finds, sorted by that variable.
        lookup: Those of the lookup, grouped by its other variable.
        key: The slot of that one.
    """

    depth: int
    probe: Sort
    lookup: Sort
    key: int
