"""Equality and order of terms (SPARQL 1.1, sections 17.3 and 17.4.1.7).

Invariant: None, an error, stands where the specification does not decide. Values are those of
rules, which decide more: there, a time without a zone is in UTC, and a date is its first instant.
"""

from __future__ import annotations

import re
from math import isnan
from typing import TYPE_CHECKING

from streamreasoner.rdf.vocabulary import XSD_DATE
from streamreasoner.values.comparison import compare
from streamreasoner.values.literal import literal
from streamreasoner.values.valuation import ValueKind

if TYPE_CHECKING:
    from streamreasoner.values.comparison import Operator
    from streamreasoner.values.literal import ValuedLiteral

_NUMBERS = {ValueKind.EXACT, ValueKind.DOUBLE, ValueKind.INTEGER}
_ZONE = re.compile(r"(?:Z|[+-][0-9]{2}:[0-9]{2})\Z")
_ZONES = 14 * 3600
"""How far, in seconds, a time without a zone may be from the same time in UTC."""


def equals(left: str | None, right: str | None) -> bool | None:
    """RDFterm-equal, or equal by value where both values can be compared.

    Literals of different kinds of values are different, as are those of which one has a language;
    None, an error, if one of two different literals has a datatype without known values.
    """
    if left is None or right is None:
        return None
    a, b = literal(left), literal(right)
    if a is None or b is None:
        return left == right
    if ValueKind.NONE not in (a.value.kind, b.value.kind):
        if a.value.kind is b.value.kind is ValueKind.INSTANT:
            order = _order_of_times(left, right, a, b)
            # A date and a time are different, but neither is before the other.
            return False if _is_date(a) != _is_date(b) else None if order is None else order == 0
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
        order = _order_of_times(left, right, a, b)
    else:
        order = compare(left, right)
    return None if order is None else operator.accepts(order)


def _order_of_times(left: str, right: str, a: ValuedLiteral, b: ValuedLiteral) -> int | None:
    """The order of two dates or of two times; None if it depends on a zone that one lacks.

    Source: XML Schema 1.1, part 2, section 3.3.7 on the order of xsd:dateTime.
    """
    if _is_date(a) != _is_date(b):
        return None
    is_local = [_ZONE.search(each.lexical) is None for each in (a, b)]
    if is_local[0] != is_local[1] and abs(a.value.whole - b.value.whole) <= _ZONES:
        return None
    return compare(left, right)


def _is_date(operand: ValuedLiteral) -> bool:
    return operand.datatype == XSD_DATE
