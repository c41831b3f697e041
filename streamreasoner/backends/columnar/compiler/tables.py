"""A compiled program. Invariant: what kernels write of it is of one state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from streamreasoner.backends.columnar.kernels.records import layout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from streamreasoner.plan.program_change import FullEvaluation
    from streamreasoner.plan.program_plan import Reduction

Columns: TypeAlias = "dict[int, NDArray[np.int32] | NDArray[np.int64]]"
"""Arrays by column of the address table."""

_STATE = (layout.CLASS_SIZES, layout.CLASS_JOURNALED, layout.SORT_LOOKUPS, layout.LOGGED)
"""Columns of the program that kernels write, besides WORK."""


@dataclass(frozen=True, slots=True)
class ProgramTables:
    """The program as the kernels read it.

    Attributes:
        columns: An array by column of the address table.
        strata: Number of strata, including the input.
        groupings: Number of groupings.
        trie_mask: Mask of the hash table of trie children.
        indexed: The groupings whose groups are found through an array by id.
        counters: Number of counters of the sizes of groups.
        group_units: The most units that the groups of one fact take if all of them are new.
        lattices_indexed: Whether the groups of every lattice are found through an array by id.
        reductions: Row of each reduction.
        listing: By the row of a reduction that is computed from all terms of a group, its function.
        rules: Number of its rules in normal form; the column WORK has them first, then those of the
            program that it replaces.
        cyclic: Strata with rules in whose plans groups intersect.
        sorts: How many arguments of arrangements groups are sorted by.
        drivers: Of a rule to evaluate in full: number of each of its plans, with the classes of the
            facts that drive the plan.
        logged: By stratum, the lattices whose heads a load can log, for `log.begin`.
        targeted: By the same strata, the plans whose heads have targets, for `targets.collect`.
    """

    columns: Columns
    strata: int
    groupings: int
    trie_mask: int
    indexed: tuple[int, ...]
    counters: int
    group_units: int
    lattices_indexed: bool
    reductions: dict[Reduction, int]
    listing: dict[int, str]
    rules: int
    cyclic: frozenset[int]
    sorts: int
    drivers: dict[FullEvaluation, list[tuple[int, list[int]]]]
    logged: dict[int, NDArray[np.int32]]
    targeted: dict[int, NDArray[np.int32]]

    def for_empty_state(self) -> ProgramTables:
        """The same program for another state, which has no facts yet."""
        columns = {number: column.copy() for number, column in self.columns.items()}
        for number in _STATE:
            columns[number][:] = 0
        columns[layout.WORK] = unused_work(len(columns[layout.WORK]))
        return replace(self, columns=columns)


def unused_work(size: int) -> NDArray[np.int64]:
    """The column WORK, of a length, before rules have done anything."""
    column = np.zeros(size, np.int64)
    column[layout.WORK_SIZE] = size
    column[layout.WORK_BUDGET] = layout.WORK_UNLIMITED
    return column


def work_row(rule: int) -> int:
    """The place of a rule in it."""
    return layout.WORK_RULES + layout.WORK_WIDTH * rule


def int32(values: Iterable[int]) -> NDArray[np.int32]:
    """A column of numbers; it has at least one, as a kernel gets its address."""
    return np.array(list(values) or [0], dtype=np.int32)
