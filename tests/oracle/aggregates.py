"""Aggregates of terms, and the total order of terms. Invariant: sums do not depend on order."""

from __future__ import annotations

import math
from fractions import Fraction

from oracle.arithmetic import numeral
from oracle.terms import NUMBER, kind, literal, number, string, triple, value

OTHER = 4


def results(function, terms):
    """The results of an aggregate, with its parameter or `distinct` after a blank."""
    name, _, parameter = function.partition(" ")
    if name in ("lowest", "highest"):
        return sorted(set(terms), key=order, reverse=name == "highest")[: int(parameter)]
    if name == "group_concat":
        texts = [literal(term) for term in sorted(terms, key=order)]
        found = None
        if texts and None not in texts:
            found = string(parameter.join(text for text, _, _ in texts))
    else:
        found = aggregate(name, parameter == "distinct", terms)
    return [] if found is None else [found]


def aggregate(function, distinct, terms):
    """An aggregate of the terms of a group; None if it has no value."""
    if function == "count":
        return numeral(len(set(terms) if distinct else terms))
    if function in ("min", "max"):
        return {"min": min, "max": max}[function](terms, key=order)
    numbers = [each for each in map(number, terms) if each is not None]
    if not numbers:
        return None
    divisor = len(numbers) if function == "avg" else 1
    if any(isinstance(each, float) for each in numbers):
        return numeral(rounded(numbers, divisor))
    return numeral(Fraction(sum(numbers)) / divisor if function == "avg" else sum(numbers))


def rounded(numbers, divisor):
    """The exact sum divided by the divisor, rounded once to a double."""
    infinite = sum(each for each in numbers if not math.isfinite(each))
    if infinite:
        return infinite
    total = sum(map(Fraction, numbers)) / divisor
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def order(term):
    """A key for the total order: blank nodes, IRIs, literals by kind and value, triple terms."""
    if parts := triple(term):
        return (3, *map(order, parts))
    text = term.encode()
    if not term.startswith('"'):
        return (0 if term.startswith("_") else 1, text.strip(b"<>"))
    content = value(term)
    if content is None:
        return (2, OTHER, text)
    if kind(content) != NUMBER:
        return (2, kind(content), content, text)
    double, exact = float(content), not isinstance(content, float)
    nearest = (1, 0.0) if math.isnan(double) else (0, double)
    return (2, NUMBER, *nearest, not exact, content if exact else 0, text)
