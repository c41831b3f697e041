"""Answers of queries. Invariant: they are of one epoch, and their terms are those of its facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from streamreasoner.query.sparql.terms import UNBOUND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from streamreasoner.query.sparql.terms import QueryTerms


@dataclass(frozen=True, slots=True)
class Solutions:
    """The answer of SELECT.

    Attributes:
        variables: The names of the variables, in order.
        ids: The values of each solution, int32 of shape (n, variables); `UNBOUND` where there is
            none.
        terms: The terms of the ids.
    """

    variables: tuple[str, ...]
    ids: NDArray[np.int32]
    terms: QueryTerms

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[str | None, ...]]:
        """The canonical terms of each solution; None where there is none."""
        distinct = np.unique(self.ids)
        distinct = distinct[distinct != UNBOUND]
        texts: dict[int, str | None] = {UNBOUND: None}
        texts.update(zip(distinct.tolist(), self.terms.texts(distinct), strict=True))
        for row in self.ids.tolist():
            yield tuple([texts[each] for each in row])


@dataclass(frozen=True, slots=True)
class Truth:
    """The answer of ASK.

    Attributes:
        holds: Whether there is a solution.
    """

    holds: bool


@dataclass(frozen=True, slots=True)
class Triples:
    """The answer of CONSTRUCT and DESCRIBE: each triple once.

    Attributes:
        ids: Subject, predicate and object, int32 of shape (n, 3).
        terms: The terms of the ids.
    """

    ids: NDArray[np.int32]
    terms: QueryTerms

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        """The canonical terms of each triple."""
        yield from zip(*[self.terms.texts(column) for column in self.ids.T], strict=True)


Answer: TypeAlias = Solutions | Truth | Triples
