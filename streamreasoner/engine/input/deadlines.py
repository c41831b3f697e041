"""When to look at registers again. Invariant: each one that is held is queued exactly once."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLOT = 1 << 10
"""Milliseconds that share a list: few enough to look through, so that few lists are needed."""


class Deadlines:
    """Facts by the time at which they are due; all of them have as many arguments.

    Attributes:
        first: The list with the first deadlines; None if there are no facts.

    Args:
        arity: Number of arguments.
    """

    def __init__(self, arity: int) -> None:
        self._arity = arity
        # A deadline is at the end of the row that it belongs to.
        self._slots: dict[int, list[NDArray[np.int64]]] = defaultdict(list)
        self.first: int | None = None

    def push(self, args: NDArray[np.int32], due: NDArray[np.int64]) -> None:
        """Add facts.

        Args:
            args: Term ids, int32 of shape (n, arity).
            due: Deadlines in milliseconds, int64 of shape (n,).
        """
        if not len(args):
            return
        rows = np.column_stack([args, due])
        slots = due // _SLOT
        order = np.argsort(slots, kind="stable")
        numbers, starts = np.unique(slots[order], return_index=True)
        for number, part in zip(numbers.tolist(), np.split(rows[order], starts[1:]), strict=True):
            self._slots[number].append(part)
        first = int(numbers[0])
        self.first = first if self.first is None else min(self.first, first)

    def due(self, time: int) -> NDArray[np.int32]:
        """The facts whose deadline is not after a time, int32 of shape (n, arity)."""
        rows = [part for number in self._until(time) for part in self._slots[number]]
        if not rows:
            return np.empty((0, self._arity), np.int32)
        all_rows = np.concatenate(rows)
        return all_rows[all_rows[:, -1] <= time, :-1].astype(np.int32)

    def earliest(self) -> int | None:
        """The first deadline; None if there are no facts."""
        if self.first is None:
            return None
        return int(min(part[:, -1].min() for part in self._slots[self.first]))

    def drop(self, time: int) -> None:
        """Remove the facts that `due` returns."""
        for number in self._until(time):
            kept = [part[part[:, -1] > time] for part in self._slots.pop(number)]
            if kept := [part for part in kept if len(part)]:
                self._slots[number] = kept
        self.first = min(self._slots, default=None)

    def _until(self, time: int) -> list[int]:
        last = time // _SLOT
        if self.first is None or self.first > last:
            return []
        return sorted(number for number in self._slots if number <= last)
