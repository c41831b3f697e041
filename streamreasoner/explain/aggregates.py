"""Aggregates of terms, and the total order. Invariant: results equal those of the engine.

The order is that of `rdf.kernels.ordering`, as a sort key: blank nodes, IRIs, then literals by kind
and value; ties and ill-typed literals by text.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.rdf.functions.literal import literal
from streamreasoner.rdf.functions.numbers import Type, exact_term, number, rounded
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.valuation import UNITS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from streamreasoner.rdf.functions.numbers import Number

Key: TypeAlias = "tuple[int, tuple[object, ...], bytes]"

_BLANK_NODES, _IRIS, _BOOLEANS, _NUMBERS, _INSTANTS, _STRINGS, _OTHER = range(7)
_RANKS = {
    Kind.NONE: _OTHER,
    Kind.EXACT: _NUMBERS,
    Kind.INTEGER: _NUMBERS,
    Kind.DOUBLE: _NUMBERS,
    Kind.STRING: _STRINGS,
    Kind.BOOLEAN: _BOOLEANS,
    Kind.INSTANT: _INSTANTS,
}


def order_key(term: str) -> Key:
    """A sort key for the total order of canonical terms."""
    text = term.encode()
    parsed = literal(term)
    if parsed is None:
        return (_IRIS if term.startswith("<") else _BLANK_NODES, (), text)
    literal_value = parsed.value
    rank = _RANKS[literal_value.kind]
    content: tuple[object, ...] = ()
    if rank == _NUMBERS:
        is_nan = math.isnan(literal_value.double)
        double = 0.0 if is_nan else literal_value.double
        inexact = literal_value.kind is Kind.DOUBLE
        content = (is_nan, double, inexact, literal_value.whole, literal_value.fraction)
    elif rank in (_BOOLEANS, _INSTANTS):
        content = (literal_value.whole, literal_value.fraction)
    elif rank == _STRINGS:
        content = (parsed.lexical,)
    return (rank, content, text)


def extreme(function: str) -> Callable[[Iterable[str]], str]:
    """The function that returns the least (`min`) or greatest (`max`) of some terms."""
    choose = min if function == "min" else max
    return lambda terms: choose(terms, key=order_key)


def aggregate(function: str, terms: Sequence[str], *, distinct: bool) -> str | None:
    """An aggregate of the terms of a group, one for each match; None if it has no value."""
    match function:
        case "count":
            return to_ntriples(len(set(terms) if distinct else terms))
        case "min" | "max":
            return extreme(function)(terms)
        case _:
            numbers = [parsed for term in terms if (parsed := number(term)) is not None]
            return _sum(numbers, average=function == "avg") if numbers else None


def _sum(numbers: Sequence[Number], *, average: bool) -> str | None:
    count = len(numbers) if average else 1
    exact = sum(each.units for each in numbers)
    kind = max(each.type for each in numbers)
    if kind is Type.DOUBLE:
        return to_ntriples(_double(exact, [each for each in numbers if each.type is kind], count))
    units = rounded(exact, count) if average else exact
    return exact_term(units, integer=kind is Type.INTEGER and not average)


def _double(exact: int, doubles: Sequence[Number], divisor: int) -> float:
    """The exact sum divided by a divisor, rounded once; IEEE 754 if an operand is not finite."""
    infinite = sum(each.double for each in doubles if not math.isfinite(each.double))
    if infinite != 0:
        return infinite
    total = Fraction(exact, UNITS)
    total += sum(Fraction(each.double) for each in doubles if math.isfinite(each.double))
    total /= divisor
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf
