"""Which terms SPARQL compares (section 17.3). Invariant: a test always has a value.

Rules compare more: a time without a zone is in UTC there, and unknown terms are different.
"""

from __future__ import annotations

from streamreasoner.rdf.term_kind import is_literal
from streamreasoner.values.functions.instants import order, same_time
from streamreasoner.values.functions.term_functions import (
    is_boolean,
    is_instant,
    is_number,
    is_string,
)
from streamreasoner.values.literal import literal


def comparable(one: str, other: str) -> bool:
    """Whether `=` and `<` do not meet two times that have no order by XML Schema."""
    if not (is_instant(one) and is_instant(other)):
        return True
    return order(one, other) is not None


def distinguishable(one: str, other: str) -> bool:
    """Whether two different terms are different values.

    A literal of an unknown datatype may be equal to any other without a language.
    """
    if is_instant(one) and is_instant(other):
        return same_time(one, other) is not None
    if not all(is_literal(each) and not _has_language(each) for each in (one, other)):
        return True
    return all(map(_is_known, (one, other)))


def _has_language(term: str) -> bool:
    parsed = literal(term)
    return parsed is not None and parsed.language is not None


def _is_known(term: str) -> bool:
    return any(test(term) for test in (is_string, is_number, is_boolean, is_instant))
