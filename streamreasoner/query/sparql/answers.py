"""Answers of queries. Invariant: they are of one epoch, and their terms are those of its facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from streamreasoner.facts import decode_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.query.sparql.query_terms import QueryTerms

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Solutions:
    """The answer of SELECT.

    Attributes:
        variables: The names of the variables, in order.
        ids: The values of each solution, int32 of shape (n, variables); `UNBOUND` where there is
            none.
        terms: The terms of the ids.
        prefixes: Prefix name to IRI, those of the query.
    """

    variables: tuple[str, ...]
    ids: NDArray[np.int32]
    terms: QueryTerms
    prefixes: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[str | None, ...]]:
        """The canonical terms of each solution; None where there is none."""
        return iter(decode_rows(self.ids, self.terms, _as_it_is))


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
        prefixes: Prefix name to IRI, those of the query.
    """

    ids: NDArray[np.int32]
    terms: QueryTerms
    prefixes: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """The canonical terms of each triple."""
        return iter(decode_rows(self.ids, self.terms, _as_it_is))


Answer: TypeAlias = Solutions | Truth | Triples


def _as_it_is(term: T) -> T:
    return term
