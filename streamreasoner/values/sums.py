"""Aggregates of terms. Invariant: a sum is exact, and rounded once.

A result depends on the terms and how often each occurs, but not on their order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.values.literal import canonical, literal
from streamreasoner.values.numbers import Type, exact_term, number, rounded
from streamreasoner.values.order import order_key
from streamreasoner.values.valuation import UNITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

COUNTING: Mapping[str, Callable[[int], int]] = {
    "count": lambda times: times,
    "count distinct": lambda times: int(times > 0),
}
"""What a term adds to each aggregate that counts terms, whatever they are."""
CHOOSING = frozenset({"lowest", "highest"})
"""Aggregates that have several results, as many as their parameter says."""
LISTING = frozenset({"group_concat"})
"""Aggregates with one result that is computed from all terms of a group, by `aggregate`."""


@dataclass(slots=True)
class Sum:
    """A sum of numbers, in parts that can be added exactly.

    Attributes:
        count: How many numbers.
        exact: The sum of integers and decimals, in units of 1e-18.
        has_decimals: Whether any number is a decimal.
        has_doubles: Whether any number is a double.
        finite: The exact sum of the finite doubles.
        positive_infinity: Whether any double is positive infinity.
        negative_infinity: Whether any double is negative infinity.
        nan: Whether any double is NaN.
    """

    count: int = 0
    exact: int = 0
    has_decimals: bool = False
    has_doubles: bool = False
    finite: Fraction = Fraction(0)
    positive_infinity: bool = False
    negative_infinity: bool = False
    nan: bool = False

    def __add__(self, other: Sum) -> Sum:
        """The sum of both."""
        return Sum(
            self.count + other.count,
            self.exact + other.exact,
            self.has_decimals or other.has_decimals,
            self.has_doubles or other.has_doubles,
            self.finite + other.finite,
            self.positive_infinity or other.positive_infinity,
            self.negative_infinity or other.negative_infinity,
            self.nan or other.nan,
        )

    def term(self, *, average: bool) -> str | None:
        """The sum, or the average, as a canonical term; None if it does not fit into 64 bits."""
        if self.has_doubles:
            return to_ntriples(self._double(self.count if average else 1))
        units = rounded(self.exact, self.count) if average else self.exact
        return exact_term(units, integer=not average and not self.has_decimals)

    def _double(self, divisor: int) -> float:
        """The total divided by *divisor*, following IEEE 754 for values that are not finite."""
        if self.nan or (self.positive_infinity and self.negative_infinity):
            return math.nan
        if self.positive_infinity or self.negative_infinity:
            return math.inf if self.positive_infinity else -math.inf
        total = (Fraction(self.exact, UNITS) + self.finite) / divisor
        try:
            return float(total)
        except OverflowError:
            return math.inf if total > 0 else -math.inf


def sum_of(terms: Iterable[tuple[str, int]]) -> Sum:
    """The sum of canonical terms, each with its multiplicity; non-numbers are ignored."""
    total = Sum()
    for term, multiplicity in terms:
        operand = number(term)
        if operand is None or multiplicity == 0:
            continue
        total.count += multiplicity
        if operand.type is not Type.DOUBLE:
            total.exact += multiplicity * operand.units
            total.has_decimals |= operand.type is Type.DECIMAL
            continue
        total.has_doubles = True
        if math.isfinite(operand.double):
            total.finite += multiplicity * Fraction(operand.double)
        else:
            total.nan |= math.isnan(operand.double)
            total.positive_infinity |= operand.double == math.inf
            total.negative_infinity |= operand.double == -math.inf
    return total


def term_of(total: Sum, function: str, overflowed: Callable[[], object]) -> str | None:
    """The `sum` or `avg` as a canonical term; None without numbers, and if it overflows."""
    if total.count == 0:
        return None
    term = total.term(average=function == "avg")
    if term is None:
        overflowed()
    return term


def aggregate(
    function: str, terms: Iterable[tuple[str, int]], overflowed: Callable[[], object] = lambda: None
) -> str | None:
    """The aggregate of a group that has one result; see `results`.

    Args:
        function: `count`, `count distinct`, `sum`, `avg`, `min`, `max`, or `group_concat` with the
            separator after a blank.
        terms: (canonical term, multiplicity), one entry for each term; counting reads no terms.
        overflowed: Called if there is no value because the whole part of an integer or decimal
            does not fit into 64 bits.

    Returns:
        A canonical term; None if the group has no such value.
    """
    match function:
        case "min" | "max":
            choose = min if function == "min" else max
            return choose((term for term, _ in terms), key=order_key)
        case "sum" | "avg":
            return term_of(sum_of(terms), function, overflowed)
        case _ if function.startswith("group_concat "):
            return concatenated(terms, function.partition(" ")[2])
        case _:
            total = sum(COUNTING[function](times) for _, times in terms)
            return to_ntriples(total) if total > 0 else None


def results(
    function: str, terms: Iterable[tuple[str, int]], overflowed: Callable[[], object] = lambda: None
) -> tuple[str, ...]:
    """The results of an aggregate of a group: those of `aggregate`, or of one in `CHOOSING`.

    Args:
        function: The aggregate, with its parameter after a blank, such as `lowest 3`.
        terms: As in `aggregate`.
        overflowed: As in `aggregate`.
    """
    name, _, parameter = function.partition(" ")
    if name in CHOOSING:
        present = (term for term, times in terms if times > 0)
        ordered = sorted(present, key=order_key, reverse=name == "highest")
        return tuple(ordered[: int(parameter)])
    result = aggregate(function, terms, overflowed)
    return () if result is None else (result,)


def concatenated(terms: Iterable[tuple[str, int]], separator: str) -> str | None:
    """The texts of literals in the total order, each as often as it occurs.

    Returns:
        None if a term is not a literal, and without terms.
    """
    texts: list[str] = []
    for term, times in sorted(terms, key=lambda each: order_key(each[0])):
        parsed = literal(term)
        if parsed is None and times > 0:
            return None
        texts += [parsed.lexical] * times if parsed is not None else ()
    return canonical(separator.join(texts)) if texts else None
