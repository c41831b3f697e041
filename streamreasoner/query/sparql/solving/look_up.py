"""Patterns that few triples match, from an index. Invariant: all solutions, or None."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.query.indexed_triples import NO_ID
from streamreasoner.query.sparql.solving.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.query.indexed_triples import IndexedTriples
    from streamreasoner.sparql.algebra import BasicGraphPattern


def looked_up(
    pattern: BasicGraphPattern, index: IndexedTriples, find: Callable[[str], int]
) -> Rows | None:
    """The solutions of triple patterns in memory.

    Args:
        pattern: The patterns.
        index: The triples.
        find: The id of a term, below 0 if no fact has it.

    Returns:
        None if a pattern has a path or a triple term, or too much is to be looked at.
    """
    numbers: dict[str, int] = {}
    patterns = []
    for triple in pattern.triples:
        row = []
        for term in (triple.subject, triple.predicate, triple.object):
            if isinstance(term, Constant):
                found = find(term.term)
                row.append(found if found >= 0 else NO_ID)
            elif isinstance(term, Variable):
                row.append(~numbers.setdefault(term.name, len(numbers)))
            else:
                return None
        patterns.append(row)
    ids = index.solutions(patterns, len(numbers))
    if ids is None:
        return None
    return Rows({name: ids[:, number] for name, number in numbers.items()}, len(ids))
