"""Move a state to another program. Invariant: no fact and no multiplicity changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.kernels.epoch import relocate
from streamreasoner.backends.columnar.kernels.records import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.arena import Arena
    from streamreasoner.backends.columnar.compiler.tables import ProgramTables
    from streamreasoner.plan.program_change import FullEvaluation
    from streamreasoner.values.value_columns import Values


@dataclass(frozen=True, slots=True)
class Moved:
    """What a migration has found, by class of the new program.

    Attributes:
        sizes: Number of its facts.
        effects: What the change means for them, `relocate.CONVERTED` or `RELINKED`.
    """

    sizes: NDArray[np.int64]
    effects: NDArray[np.int32]

    @property
    def converts(self) -> bool:
        """Whether there are facts of lattices that only one of the programs has."""
        return bool((self.effects == relocate.CONVERTED).any())


def migrate(
    state: Arena, tables: ProgramTables, values: Values, check: Callable[[int], None]
) -> Moved:
    """Move a state to a program.

    Args:
        state: The state.
        tables: The program.
        values: The values of terms.
        check: Raises the error of a status.
    """
    table = state.table
    old_table, old_arrays = table.copy(), state.arrays()
    new_table, new_scalars = state.preview(tables)
    needed = np.zeros(layout.MAX_RECORD + 1, np.int64)
    relocate.detach(table, new_table, needed)
    units = relocate.lacking(table, needed)
    if state.scalars[layout.TOP] + units > state.scalars[layout.CAPACITY]:
        check(relocate.attach(table))
        check(layout.FULL)
    state.install(tables)
    classes = len(tables.columns[layout.CLASSES]) // layout.CLASS_WIDTH
    moved = Moved(np.zeros(classes, np.int64), np.zeros(classes, np.int32))
    relocate.relocate(table, old_table, moved.sizes, moved.effects)
    check(relocate.attach(table))
    if (moved.effects == relocate.RELINKED).any():
        values.extend()
        check(relocate.restore_winners(table, values.table, moved.effects))
    del old_arrays, new_scalars  # kept alive until here: the tables hold their addresses
    return moved


def drivers(
    rules: Iterable[FullEvaluation],
    plans: Mapping[FullEvaluation, Sequence[tuple[int, Sequence[int]]]],
    sizes: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """By class, the plans that evaluate rules in full, each driven by its rarest atom.

    Args:
        rules: The rules.
        plans: Of each rule, plans with the classes that drive them: `ProgramTables.drivers`.
        sizes: Number of facts of each class.

    Returns:
        Offset of each class in the items, and the items, for `relocate.evaluate_in_full`.
    """
    by_class: list[list[tuple[int, int, int, int]]] = [[] for _ in sizes]
    for rule in rules:
        plan, classes = min(plans[rule], key=lambda item: sum(sizes[c] for c in item[1]))
        field = layout.CLASS_STRATUM if rule.sign > 0 else layout.CLASS_OLD_STRATUM
        for number in classes:
            by_class[number].append((plan, rule.sign, rule.stratum, field))
    starts = np.cumsum([0, *map(len, by_class)]).astype(np.int32)
    items = [item for items in by_class for item in items] or [(0, 0, 0, 0)]
    return starts, np.array(items, np.int32)
