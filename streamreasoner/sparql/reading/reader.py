"""Reads a whole text. Invariant: it is one query, or one request of updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.sparql.algebra import Query
from streamreasoner.sparql.reading.updates import UpdateReader
from streamreasoner.sparql.update import Update

if TYPE_CHECKING:
    from streamreasoner.sparql.reading.term_reader import Place
    from streamreasoner.sparql.update import Operation


class Reader(UpdateReader):
    """One method for each rule of the grammar, from the values of the children to its own."""

    def unit(self, _: Place, values: list[Query | Operation | None]) -> Query | Update:
        """A query, or updates."""
        found = [each for each in values if each is not None]
        match found:
            case [Query() as query]:
                return query
            case _:
                operations = tuple(each for each in found if not isinstance(each, Query))
                prefixes = tuple(self._prefixes.items())
                return Update(operations, frozenset(self._blank.values()), prefixes)
