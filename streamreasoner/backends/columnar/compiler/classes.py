"""Classes of facts. Invariant: facts that the program's constants do not distinguish share a class.

A fact's constants determine its stratum, its arrangements and the plans it drives. These are
computed once per combination of constants, the class, which a trie finds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.slots import mix
from streamreasoner.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.plan.program_plan import Lattice

_T = TypeVar("_T")

Constants: TypeAlias = tuple[tuple[int, int], ...]
"""(position, term id) pairs that a fact must have."""

_ByPredicate: TypeAlias = "Mapping[str, Sequence[tuple[Constants, _T]]]"


@dataclass(frozen=True, slots=True)
class ClassQueries:
    """What a program needs to know of a fact by its constants: (predicate, constants, value) rows.

    Attributes:
        arities: Arity of every predicate.
        relations: Number of every predicate.
        heads: The stratum of derived facts.
        old_heads: The same in the previous program, if any.
        arranged: The arrangement that a fact belongs to.
        nested: By arrangement that is nested in another one: that one.
        lattices: The lattice that a fact is a candidate of, with its number.
        driven: (stratum, plan, argument + 1 by which it shares its matches, or 0) that a fact's
            delta drives.
        counted: (stratum, counter, position of its key or -1) that counts a fact.
        copied: (relation, argument that tells the part or -1) of a copy of a fact.
        distinguished: No value, but matching facts get classes of their own.
        reductions: By predicate: the reduction over its facts, + 1.
        hidden: Predicates that lowering added.
        copies: The predicates whose facts are copies.
        strata: Number of strata, including the input.
        groupings: Number of groupings.
    """

    arities: Mapping[str, int]
    relations: Mapping[str, int]
    heads: Sequence[tuple[str, Constants, int]]
    old_heads: Sequence[tuple[str, Constants, int]]
    arranged: Sequence[tuple[str, Constants, int]]
    nested: Mapping[int, int]
    lattices: Sequence[tuple[str, Constants, tuple[int, Lattice]]]
    driven: Sequence[tuple[str, Constants, tuple[int, int, int]]]
    counted: Sequence[tuple[str, Constants, tuple[int, int, int]]]
    copied: Sequence[tuple[str, Constants, tuple[int, int]]]
    distinguished: Sequence[tuple[str, Constants, None]]
    reductions: Mapping[str, int]
    hidden: frozenset[str]
    copies: frozenset[str]
    strata: int
    groupings: int


@dataclass(slots=True)
class Classes:
    """The classes of facts that a program distinguishes, and the tries that find them.

    Attributes:
        rows: The table of classes, rows of `layout.CLASS_WIDTH`.
        roots: By predicate, the trie node to start from.
    """

    queries: ClassQueries
    rows: list[list[int]] = field(default_factory=list)
    roots: dict[str, int] = field(default_factory=dict)
    nodes: list[tuple[int, int]] = field(default_factory=list)
    memberships: list[tuple[int, int]] = field(default_factory=list)
    dispatched: list[int] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    copied: list[int] = field(default_factory=list)
    # (stratum, class, row of `layout.DISPATCH`) of the classes that drive or count in a stratum.
    _driving: list[tuple[int, ...]] = field(default_factory=list)
    _children: list[tuple[int, int, int]] = field(default_factory=list)
    # By predicate: what each of its classes satisfies.
    _satisfied: dict[str, dict[int, frozenset[Constants]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    # Each sequence of rows of the queries, by predicate.
    _heads: _ByPredicate[int] = field(init=False)
    _old_heads: _ByPredicate[int] = field(init=False)
    _arranged: _ByPredicate[int] = field(init=False)
    _lattices: _ByPredicate[tuple[int, Lattice]] = field(init=False)
    _driven: _ByPredicate[tuple[int, int, int]] = field(init=False)
    _counted: _ByPredicate[tuple[int, int, int]] = field(init=False)
    _copied: _ByPredicate[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        queries = self.queries
        self._heads = _by_predicate(queries.heads)
        self._old_heads = _by_predicate(queries.old_heads)
        self._arranged = _by_predicate(queries.arranged)
        self._lattices = _by_predicate(queries.lattices)
        self._driven = _by_predicate(queries.driven)
        self._counted = _by_predicate(queries.counted)
        self._copied = _by_predicate(queries.copied)
        distinguished = _by_predicate(queries.distinguished)
        kinds: tuple[_ByPredicate[object], ...] = (
            self._heads, self._old_heads, self._arranged, self._lattices, self._driven,
            self._counted, self._copied, distinguished,
        )  # fmt: skip
        for predicate in queries.relations:
            rows = chain.from_iterable(kind.get(predicate, ()) for kind in kinds)
            patterns = frozenset(constants for constants, _ in rows if constants)
            self.roots[predicate] = self._node(predicate, 0, patterns, {})

    def matching(self, predicate: str, constants: Constants) -> list[int]:
        """The classes whose facts have the constants, which must be those of one of the queries."""
        return [
            number
            for number, satisfied in self._satisfied[predicate].items()
            if not constants or constants in satisfied
        ]

    def trie_slots(self) -> NDArray[np.int64]:
        """The children of trie nodes as an open-addressing table of (key, child) pairs."""
        size = 8
        while size < 2 * len(self._children):
            size *= 2
        slots = np.full((size, layout.TRIE_WIDTH), -1, np.int64)
        for node, constant, child in self._children:
            key = (node << layout.HALF) | constant
            i = mix(0, key) & (size - 1)
            while slots[i, layout.TRIE_CHILD] >= 0:
                i = (i + 1) & (size - 1)
            slots[i] = key, child
        return slots.ravel()

    def links(self, row: list[int]) -> list[tuple[int, int]]:
        """By link of the facts of a class: its arrangement, and the one nested in it, or -1."""
        first = row[layout.CLASS_MEMBERSHIPS]
        return self.memberships[first : first + row[layout.CLASS_LINK_COUNT]]

    def link_offsets(self) -> NDArray[np.int32]:
        """By class and arrangement: word of the link in a record, LAST if it is nested; or -1."""
        offsets = np.full((len(self.rows), self.queries.groupings), -1, np.int32)
        for words, row in zip(offsets, self.rows, strict=True):
            for i, (arrangement, nested) in enumerate(self.links(row)):
                words[arrangement] = row[layout.CLASS_LINKS] + layout.LINK_WIDTH * i
                if nested >= 0:
                    words[nested] = words[arrangement] | layout.LAST
            if row[layout.CLASS_LATTICE]:
                words[row[layout.CLASS_LATTICE] - 1] = row[layout.CLASS_LINKS] - layout.LINK_WIDTH
        return offsets

    def driven(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The columns DRIVEN and DRIVEN_FROM: what each stratum reads, of few of many classes."""
        rows = np.array(sorted(self._driving) or np.empty((0, 1 + layout.DRIVEN_WIDTH)), np.int32)
        starts = np.searchsorted(rows[:, 0], np.arange(self.queries.strata + 1))
        return rows[:, 1:].reshape(-1), starts.astype(np.int32)

    def _node(
        self,
        predicate: str,
        position: int,
        alive: frozenset[Constants],
        known: dict[tuple[int, frozenset[Constants]], int],
    ) -> int:
        """The node that distinguishes facts from *position* on; *alive* ones may still match."""
        arity = self.queries.arities[predicate]
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
        unaffected = frozenset(p for p in alive if position not in dict(p))
        default = self._node(predicate, position + 1, unaffected, known)
        self.nodes[node] = (position, default)
        for constant in sorted({dict(p)[position] for p in alive - unaffected}):
            matching = frozenset(p for p in alive if dict(p).get(position, constant) == constant)
            child = self._node(predicate, position + 1, matching, known)
            self._children.append((node, constant, child))
        return node

    def _add_class(self, predicate: str, satisfied: frozenset[Constants]) -> int:
        queries = self.queries

        def applying(rows: _ByPredicate[_T]) -> list[_T]:
            return [x for c, x in rows.get(predicate, ()) if not c or c in satisfied]

        strata = set(applying(self._heads))
        assert len(strata) <= 1, "Rules whose heads unify share a stratum."  # noqa: S101
        lattices = applying(self._lattices)
        assert len(lattices) <= 1, "Lattices that unify are one."  # noqa: S101
        members = sorted(applying(self._arranged))
        inner = {queries.nested[each]: each for each in members if each in queries.nested}
        linked = [(each, inner.get(each, -1)) for each in members if each not in queries.nested]
        # The link of a lattice is first, so all candidates of a group have it at the same word.
        links = layout.CELLS + queries.arities[predicate] + layout.LINK_WIDTH * len(lattices)
        words = links + layout.LINK_WIDTH * len(linked)
        if words > layout.WORDS * layout.MAX_RECORD:
            raise ProgramError(
                f"Rules look up '{predicate}' by {len(linked)} combinations of its arguments; at"
                f" most {layout.MAX_RECORD - (links + 1) // 2} are supported. Split the predicate."
            )
        self._satisfied[predicate][len(self.rows)] = satisfied
        driven: dict[int, list[int]] = defaultdict(list)
        keys: dict[int, Counter[int]] = defaultdict(Counter)
        for stratum, plan, key in applying(self._driven):
            driven[stratum].append(plan)
            keys[stratum].update((key,) if key else ())
        counters: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for stratum, counter, position in applying(self._counted):
            counters[stratum].append((counter, position))
        # Patterns of a copy may overlap.
        copies = list(dict.fromkeys(applying(self._copied)))
        self.rows.append(
            [
                queries.relations[predicate],
                queries.arities[predicate],
                (words + 1) // 2,
                next(iter(strata), 0),
                links,
                len(self.memberships),
                len(linked),
                *(_lattice_fields(*lattices[0]) if lattices else (0, 0, 0)),
                queries.reductions.get(predicate, 0),
                next(iter(applying(self._old_heads)), 0),
                _visibility(predicate, queries),
                max(driven, default=0),
                len(self.counted) // layout.COUNTED_WIDTH,
                sum(map(len, counters.values())),
                len(self.copied) // layout.COPY_WIDTH,
                len(copies),
            ]
        )
        self.copied.extend(chain.from_iterable(copies))
        self.memberships.extend(linked)
        for stratum in sorted({*driven, *counters}):
            plans, counted = driven.get(stratum, ()), counters.get(stratum, ())
            # The argument that most plans share their matches by.
            key = max(keys[stratum], key=keys[stratum].__getitem__, default=0)
            first = len(self.counted) // layout.COUNTED_WIDTH
            self._driving.append(
                (
                    stratum,
                    len(self.rows) - 1,
                    len(self.dispatched),
                    len(plans),
                    key,
                    first,
                    len(counted),
                )
            )
            self.dispatched.extend(plans)
            self.counted.extend(x for counter, at in counted for x in (counter, at, stratum))
        if len(self.rows) > layout.CLASS_BITS:
            raise ProgramError(
                f"The program's constants distinguish more than {layout.CLASS_BITS:,} classes of"
                " facts. Move constants from rules into facts that the rules join with."
            )
        return len(self.rows) - 1


def _by_predicate(rows: Sequence[tuple[str, Constants, _T]]) -> _ByPredicate[_T]:
    """Rows of queries without their predicates, in order."""
    grouped = defaultdict(list)
    for predicate, constants, value in rows:
        grouped[predicate].append((constants, value))
    return grouped


def _visibility(predicate: str, queries: ClassQueries) -> int:
    """The field CLASS_HIDDEN."""
    if predicate in queries.copies:
        return layout.COPY
    return layout.HIDDEN if predicate in queries.hidden else 0


def _lattice_fields(number: int, lattice: Lattice) -> tuple[int, int, int]:
    return number + 1, lattice.position, 1 if lattice.function == "min" else -1
