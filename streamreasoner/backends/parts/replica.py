"""The dictionary of a part that is in another process. Invariant: the driver alone gives ids.

A program that compares or computes needs the terms: the replica then *follows* the dictionary of
the driver, of which it has the first terms, in the same order. Any other program needs no terms but
the ids of its constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.kernels import term_header

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.native.reserved import ReservedColumn
    from streamreasoner.rdf.dictionary import Terms


class Replica(Dictionary):
    """The terms that this process needs.

    Args:
        ask: Gives a term its id in the driver. The second argument is how many terms this has, to
            get those after them too; None for the id alone.

    Attributes:
        follows: Whether it has the terms; it begins to follow when it is empty.
    """

    __slots__ = ("_ask", "_ids", "_is_open", "_loaded", "follows")

    def __init__(self, ask: Callable[[str, int | None], tuple[int, Terms | None]]) -> None:
        self._ask = ask
        self._ids: dict[str, int] = {}
        self._is_open = False
        self.follows = False
        super().__init__()

    def intern(self, term: str) -> int:
        """Id of a canonical term, which the driver adds if it is unseen."""
        found = self.find(term) if self.follows else self._ids.get(term)
        if found is not None:
            return found
        identifier, terms = self._ask(term, len(self) if self.follows else None)
        if terms is None:
            self._ids[term] = identifier
        else:
            self.learn(terms)
        return identifier

    def learn(self, terms: Terms) -> None:
        """Add the next terms of the driver."""
        self._is_open = True
        self._limit()
        self.encode(terms)
        self._is_open = False
        self._limit()

    def _install(self, slots: ReservedColumn) -> None:
        super()._install(slots)
        self._loaded = self._header[term_header.COUNT_LIMIT]
        self._limit()

    def _limit(self) -> None:
        """Let nothing but `learn` add a term: kernels find that they have no room."""
        self._header[term_header.COUNT_LIMIT] = self._loaded if self._is_open else 0
