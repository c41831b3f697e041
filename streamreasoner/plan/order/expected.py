"""How many facts are expected to match an atom. Invariant: the program alone decides, not the data.

So the first load has the same plans as a restart, and a replay those of the first time.
"""

from __future__ import annotations

from collections import defaultdict
from enum import IntEnum
from typing import TYPE_CHECKING

from streamreasoner.plan.order.small import is_small

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.plan.operands import Pattern


class Expected(IntEnum):
    """Expected numbers of facts, the least first.

    Attributes:
        FEW: Those about a schema.
        SOME: Those of the input and of lower strata.
        MANY: Those that the rules of the same stratum derive, from the others and from each other.
    """

    FEW = 0
    SOME = 1
    MANY = 2


class Heads:
    """The heads of a stratum, indexed: programs have thousands, and as many atoms."""

    def __init__(self, heads: Iterable[Pattern]) -> None:
        # By predicate and positions of constants: the terms at these positions.
        self._terms: dict[str, dict[tuple[int, ...], set[tuple[str, ...]]]] = {}
        # The same terms at some of these positions.
        self._parts: dict[tuple[str, tuple[int, ...], tuple[int, ...]], set[tuple[str, ...]]] = {}
        for head in heads:
            positions = tuple(position for position, _ in head.constants)
            shapes = self._terms.setdefault(head.predicate, defaultdict(set))
            shapes[positions].add(tuple(term for _, term in head.constants))

    def derive(self, pattern: Pattern) -> bool:
        """Whether a fact that matches a pattern may be derived, by one of the heads."""
        terms = dict(pattern.constants)
        shapes = self._terms.get(pattern.predicate, {})
        return any(
            tuple(terms[position] for position in positions if position in terms)
            in self._at(pattern.predicate, positions, tuple(p for p in positions if p in terms))
            for positions in shapes
        )

    def _at(
        self, predicate: str, positions: tuple[int, ...], common: tuple[int, ...]
    ) -> set[tuple[str, ...]]:
        """The terms at the positions that a pattern has constants at, too."""
        key = predicate, positions, common
        if key not in self._parts:
            places = [positions.index(position) for position in common]
            found = self._terms[predicate][positions]
            self._parts[key] = {tuple(terms[place] for place in places) for terms in found}
        return self._parts[key]


def expected(pattern: Pattern, small: frozenset[str], heads: Heads) -> Expected:
    """How many facts are expected to match.

    Args:
        pattern: The atom.
        small: Predicates that have few facts.
        heads: Those of its stratum.
    """
    if is_small(pattern, small):
        return Expected.FEW
    return Expected.MANY if heads.derive(pattern) else Expected.SOME
