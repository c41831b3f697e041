"""Solutions in memory. Invariant: rows of ids are int32, one array for each variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.query.sparql.query_terms import UNBOUND

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Rows:
    """Solutions.

    Attributes:
        columns: The ids of each variable, int32 of shape (n,).
        count: n.
    """

    columns: dict[str, NDArray[np.int32]]
    count: int

    def where(self, mask: NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        return Rows({v: ids[mask] for v, ids in self.columns.items()}, int(mask.sum()))

    def project(self, variables: Iterable[str]) -> Rows:
        """The rows with some variables only; one that they do not have is unbound."""
        unbound = np.full(self.count, UNBOUND, np.int32)
        return Rows({v: self.columns.get(v, unbound) for v in variables}, self.count)

    def once(self) -> Rows:
        """The distinct rows, each at its first place."""
        first, _ = group(list(self.columns.values()), self.count)
        first.sort()
        return Rows({v: ids[first] for v, ids in self.columns.items()}, len(first))

    def part(self, start: int, length: int | None) -> Rows:
        """Some of the rows."""
        stop = self.count if length is None else min(start + length, self.count)
        columns = {v: ids[start:stop] for v, ids in self.columns.items()}
        return Rows(columns, max(stop - start, 0))

    def having(self, variable: str, ids: NDArray[np.int32]) -> Rows:
        """The rows with another column."""
        return Rows({**self.columns, variable: ids}, self.count)

    def of(self, variables: Sequence[str]) -> Iterable[tuple[int, ...]]:
        """The ids of some variables, row by row."""
        if not variables:
            return [()] * self.count
        return zip(*[self.columns[v].tolist() for v in variables], strict=True)

    def distinct(self, variables: Iterable[str]) -> tuple[Rows, NDArray[np.int64]]:
        """The distinct rows of some variables, and which of them each row has."""
        columns = {v: self.columns[v] for v in variables}
        first, positions = group(list(columns.values()), self.count)
        return Rows({v: ids[first] for v, ids in columns.items()}, len(first)), positions

    def optional(self) -> frozenset[str]:
        """The variables that some row does not bind."""
        return frozenset(v for v, ids in self.columns.items() if (ids == UNBOUND).any())


def group(
    keys: Sequence[NDArray[np.signedinteger]], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Groups of equal keys.

    Args:
        keys: Arrays of shape (count,); without any, all rows are of one group.
        count: The rows.

    Returns:
        The first row of each group, and the group of each row.
    """
    codes = np.zeros(count, np.int64)
    first = np.zeros(min(count, 1), np.int64)
    for key in keys:
        values, ranks = np.unique(key, return_inverse=True)
        _, first, codes = np.unique(
            codes * len(values) + ranks, return_index=True, return_inverse=True
        )
    return first, codes
