"""Numbers of relations and groupings. Invariant: a number is assigned once and never changes.

Records hold them, and outlive the program that they were made for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from streamreasoner.plan.algebra import Arrangement
from streamreasoner.plan.program_plan import Lattice, Reduction

Grouping: TypeAlias = Arrangement | Lattice | Reduction
"""Groups facts by a key: for a join, a lattice or an aggregate."""


@dataclass(slots=True)
class Numbering:
    """The numbers assigned so far.

    Attributes:
        relations: Number of each predicate.
        groupings: Number of each grouping.
        arities: Arity of every predicate, including those of earlier programs.
    """

    relations: dict[str, int] = field(default_factory=dict)
    groupings: dict[Grouping, int] = field(default_factory=dict)
    arities: dict[str, int] = field(default_factory=dict)

    def add_relations(self, arities: dict[str, int]) -> None:
        """Number the predicates of a program, in alphabetical order."""
        for predicate in sorted(arities):
            self.relations.setdefault(predicate, len(self.relations))
        self.arities |= arities

    def grouping(self, grouping: Grouping) -> int:
        """The number of a grouping."""
        return self.groupings.setdefault(grouping, len(self.groupings))

    @property
    def indexed(self) -> tuple[int, ...]:
        """The groupings whose groups are found through an array by id."""
        return tuple(
            number
            for grouping, number in self.groupings.items()
            if not isinstance(grouping, Reduction) and len(grouping.key) == 1
        )
