"""Sums and averages of terms. Invariant: a sum is exact, and rounded once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from streamreasoner.rdf.functions.numbers import Type, exact_term, number, rounded
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.valuation import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(slots=True)
class Sum:
    """A sum of numbers, by its parts.

    Attributes:
        count: How many numbers.
        exact: The sum of integers and decimals, in units of 1e-18.
        decimals: Whether any of them is a decimal.
        doubles: Whether any number is a double.
        finite: The sum of the finite doubles.
        positive: Whether any double is infinite.
        negative: Whether any is negative and infinite.
        nan: Whether any is not a number.
    """

    count: int = 0
    exact: int = 0
    decimals: bool = False
    doubles: bool = False
    finite: Fraction = Fraction(0)
    positive: bool = False
    negative: bool = False
    nan: bool = False

    def __add__(self, other: Sum) -> Sum:
        """The sum of both."""
        return Sum(
            self.count + other.count,
            self.exact + other.exact,
            self.decimals or other.decimals,
            self.doubles or other.doubles,
            self.finite + other.finite,
            self.positive or other.positive,
            self.negative or other.negative,
            self.nan or other.nan,
        )

    def term(self, *, average: bool) -> str | None:
        """The sum, or the average, as a canonical term; None if it does not fit 64 bits."""
        if self.doubles:
            return to_ntriples(self._double(self.count if average else 1))
        units = rounded(self.exact, self.count) if average else self.exact
        return exact_term(units, integer=not average and not self.decimals)

    def _double(self, divisor: int) -> float:
        """The total divided by *divisor*, following IEEE 754 for values that are not finite."""
        if self.nan or (self.positive and self.negative):
            return math.nan
        if self.positive or self.negative:
            return math.inf if self.positive else -math.inf
        total = (Fraction(self.exact, UNITS) + self.finite) / divisor
        try:
            return float(total)
        except OverflowError:
            return math.inf if total > 0 else -math.inf


def sum_of(terms: Iterable[tuple[str, int]]) -> Sum:
    """The sum of canonical terms, each with its multiplicity; non-numbers are ignored."""
    total = Sum()
    for term, times in terms:
        operand = number(term)
        if operand is None or times == 0:
            continue
        total.count += times
        if operand.type is not Type.DOUBLE:
            total.exact += times * operand.units
            total.decimals |= operand.type is Type.DECIMAL
            continue
        total.doubles = True
        if math.isfinite(operand.double):
            total.finite += times * Fraction(operand.double)
        else:
            total.nan |= math.isnan(operand.double)
            total.positive |= operand.double == math.inf
            total.negative |= operand.double == -math.inf
    return total
