"""Numbers that records in memory hold. Invariant: a number is given once and never changes.

Relations and groupings keep their numbers when the program changes, so that the records of facts
and groups stay valid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from streamreasoner.plan.algebra import Arrangement, Lattice, Reduction

Grouping: TypeAlias = Arrangement | Lattice | Reduction
"""What groups facts by a key: for a join, for choosing the best, or for an aggregate."""


@dataclass(slots=True)
class Numbering:
    """The numbers given so far.

    Attributes:
        relations: By predicate.
        groupings: By what the groups are for.
        arities: Of every predicate there ever was.
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
        """The groupings whose groups an index by id finds."""
        return tuple(
            number
            for grouping, number in self.groupings.items()
            if not isinstance(grouping, Reduction) and len(grouping.key) == 1
        )
