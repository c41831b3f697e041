"""Classes of facts. Invariant: facts whose constants the program cannot tell apart are one class.

What the constants of a fact decide (its stratum, the arrangements it is in, the plans it drives) is
worked out once for every combination of constants: a class, found by walking a trie.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from streamreasoner.backends.columnar import layout
from streamreasoner.backends.columnar.slots import mix
from streamreasoner.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.plan.algebra import Lattice

_T = TypeVar("_T")

Constants: TypeAlias = tuple[tuple[int, int], ...]
"""(position, term id) pairs that a fact must have."""


@dataclass(frozen=True, slots=True)
class ClassQueries:
    """What a program asks of a fact by its constants, each (predicate, constants, what follows).

    Attributes:
        arities: Of every predicate.
        relations: Number of every predicate.
        heads: The stratum of facts that rules derive.
        old_heads: The same in the program before, if there is one.
        arranged: The arrangement that a fact is a member of.
        lattices: The lattice that a fact is a candidate of, with its number.
        driven: (stratum, plan) that its delta drives.
        distinguished: Nothing, but facts that match are to be known.
        reductions: By predicate: the reduction that counts its facts, + 1.
        hidden: Predicates that lowering added.
        strata: Number of strata, with that of the input.
        groupings: Number of groupings.
    """

    arities: Mapping[str, int]
    relations: Mapping[str, int]
    heads: Sequence[tuple[str, Constants, int]]
    old_heads: Sequence[tuple[str, Constants, int]]
    arranged: Sequence[tuple[str, Constants, int]]
    lattices: Sequence[tuple[str, Constants, tuple[int, Lattice]]]
    driven: Sequence[tuple[str, Constants, tuple[int, int]]]
    distinguished: Sequence[tuple[str, Constants, None]]
    reductions: Mapping[str, int]
    hidden: frozenset[str]
    strata: int
    groupings: int


@dataclass(slots=True)
class Classes:
    """The classes of facts that a program tells apart, and the tries that find them.

    Attributes:
        rows: The table of classes, rows of `layout.CLASS_WIDTH`.
        roots: By predicate, the trie node to start from.
    """

    asked: ClassQueries
    rows: list[list[int]] = field(default_factory=list)
    roots: dict[str, int] = field(default_factory=dict)
    nodes: list[tuple[int, int]] = field(default_factory=list)
    memberships: list[int] = field(default_factory=list)
    dispatch: list[int] = field(default_factory=list)
    dispatched: list[int] = field(default_factory=list)
    _children: list[tuple[int, int, int]] = field(default_factory=list)
    _satisfied: list[tuple[str, frozenset[Constants]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        asked = self.asked
        everything = (
            *asked.heads, *asked.old_heads, *asked.arranged, *asked.lattices, *asked.driven,
            *asked.distinguished,
        )  # fmt: skip
        for predicate in asked.relations:
            patterns = frozenset(c for name, c, _ in everything if name == predicate and c)
            self.roots[predicate] = self._node(predicate, 0, patterns, {})

    def matching(self, predicate: str, constants: Constants) -> list[int]:
        """The classes whose facts have the constants; these must be among those asked for."""
        return [
            number
            for number, (name, satisfied) in enumerate(self._satisfied)
            if name == predicate and (not constants or constants in satisfied)
        ]

    def trie_slots(self) -> NDArray[np.int64]:
        """The children of trie nodes as an open-addressing table of (key, child) pairs."""
        size = 8
        while size < 2 * len(self._children):
            size *= 2
        slots = np.full(2 * size, -1, np.int64)
        for node, constant, child in self._children:
            key = (node << 32) | constant
            i = mix(0, key) & (size - 1)
            while slots[2 * i + 1] >= 0:
                i = (i + 1) & (size - 1)
            slots[2 * i : 2 * i + 2] = key, child
        return slots

    def members(self, row: list[int]) -> list[int]:
        """The arrangements that the facts of a class are members of."""
        first = row[layout.CLASS_MEMBERSHIPS]
        return self.memberships[first : first + row[layout.CLASS_LINK_COUNT]]

    def link_offsets(self) -> list[list[int]]:
        """By class and arrangement: word of the link in a record, or -1."""
        offsets = []
        for row in self.rows:
            members = self.members(row)
            found = dict.fromkeys(range(self.asked.groupings), -1)
            found.update({a: row[layout.CLASS_LINKS] + 2 * i for i, a in enumerate(members)})
            if row[layout.CLASS_LATTICE]:
                lattice = row[layout.CLASS_LATTICE] - 1
                found[lattice] = row[layout.CLASS_LINKS] + 2 * len(members)
            offsets.append(list(found.values()))
        return offsets

    def _node(
        self,
        predicate: str,
        position: int,
        alive: frozenset[Constants],
        known: dict[tuple[int, frozenset[Constants]], int],
    ) -> int:
        """The node that tells facts apart from *position* on; *alive* may still be satisfied."""
        arity = self.asked.arities[predicate]
        while position < arity and not any(position in dict(p) for p in alive):
            position += 1
        if (position, alive) in known:
            return known[position, alive]
        node = len(self.nodes)
        known[position, alive] = node
        if position == arity:
            self.nodes.append((-1, self._add_class(predicate, alive)))
            return node
        self.nodes.append((position, -1))
        indifferent = frozenset(p for p in alive if position not in dict(p))
        default = self._node(predicate, position + 1, indifferent, known)
        self.nodes[node] = (position, default)
        for constant in sorted({dict(p)[position] for p in alive - indifferent}):
            agreeing = frozenset(p for p in alive if dict(p).get(position, constant) == constant)
            child = self._node(predicate, position + 1, agreeing, known)
            self._children.append((node, constant, child))
        return node

    def _add_class(self, predicate: str, satisfied: frozenset[Constants]) -> int:
        asked = self.asked

        def applying(rows: Sequence[tuple[str, Constants, _T]]) -> list[_T]:
            return [x for name, c, x in rows if name == predicate and (not c or c in satisfied)]

        strata = set(applying(asked.heads))
        assert len(strata) <= 1, "Rules whose heads unify share a stratum."  # noqa: S101
        lattices = applying(asked.lattices)
        assert len(lattices) <= 1, "Lattices that unify are one."  # noqa: S101
        members = sorted(applying(asked.arranged))
        links = layout.CELLS + asked.arities[predicate]
        words = links + 2 * (len(members) + len(lattices))
        if words > 2 * layout.MAX_RECORD:
            raise ProgramError(
                f"Rules look '{predicate}' up by {len(members)} combinations of its arguments;"
                f" {layout.MAX_RECORD - (links + 1) // 2} fit. Split it into several predicates."
            )
        self.rows.append(
            [
                asked.relations[predicate],
                asked.arities[predicate],
                (words + 1) // 2,
                next(iter(strata), 0),
                links,
                len(self.memberships),
                len(members),
                *(_lattice_fields(*lattices[0]) if lattices else (0, 0, 0)),
                asked.reductions.get(predicate, 0),
                next(iter(applying(asked.old_heads)), 0),
                int(predicate in asked.hidden),
            ]
        )
        self.memberships.extend(members)
        self._satisfied.append((predicate, satisfied))
        driven = applying(asked.driven)
        for stratum in range(asked.strata):
            plans = [plan for where, plan in driven if where == stratum]
            self.dispatch.extend((len(self.dispatched), len(plans)))
            self.dispatched.extend(plans)
        if len(self.rows) > layout.CLASS_BITS:
            raise ProgramError(
                f"The constants of the program tell more than {layout.CLASS_BITS:,} kinds of facts"
                " apart. Move constants from rules to facts that the rules join with."
            )
        return len(self.rows) - 1


def _lattice_fields(number: int, lattice: Lattice) -> tuple[int, int, int]:
    return number + 1, lattice.position, 1 if lattice.function == "min" else -1
