"""Equality and order of terms (SPARQL 1.2, sections 17.3 and 17.4.1.7).

Invariant: None, an error, stands where the specification does not decide. Values are those of
rules, which decide more: there, a time without a zone is in UTC, and a date is its first instant.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from streamreasoner.rdf.triple_terms import nested_parts
from streamreasoner.values.comparison import compare
from streamreasoner.values.functions import instants
from streamreasoner.values.literal import literal
from streamreasoner.values.valuation import ValueKind

if TYPE_CHECKING:
    from streamreasoner.values.comparison import Operator

_NUMBERS = {ValueKind.EXACT, ValueKind.DOUBLE, ValueKind.INTEGER}


def equals(left: str | None, right: str | None) -> bool | None:
    """RDFterm-equal, or equal by value where both values can be compared.

    Literals of different kinds of values are different, as are those of which one has a language;
    None, an error, if one of two different literals has a datatype without known values. Triple
    terms are equal if their parts are.
    """
    if left is None or right is None:
        return None
    (heads, left), (others, right) = nested_parts(left), nested_parts(right)
    a, b = literal(left), literal(right)
    if heads != others or a is None or b is None:
        return heads == others and left == right
    if ValueKind.NONE not in (a.value.kind, b.value.kind):
        if a.value.kind is b.value.kind is ValueKind.INSTANT:
            return instants.same_time(left, right)
        return compare(left, right) == 0 and not isnan(a.value.double)
    if left == right:
        return True
    return False if a.language is not None or b.language is not None else None


def ordered(operator: Operator, left: str | None, right: str | None) -> bool | None:
    """Whether two values are in an order."""
    if left is None or right is None:
        return None
    a, b = literal(left), literal(right)
    if a is None or b is None or ValueKind.NONE in (a.value.kind, b.value.kind):
        return None
    if isnan(a.value.double) or isnan(b.value.double):
        return False if {a.value.kind, b.value.kind} <= _NUMBERS else None
    if a.value.kind is b.value.kind is ValueKind.INSTANT:
        order = instants.order(left, right)
    else:
        order = compare(left, right)
    return None if order is None else operator.accepts(order)
