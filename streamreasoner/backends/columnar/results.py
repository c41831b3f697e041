"""Terms of reduction results. Invariant: they are computed from exact accumulators."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.settling import reduce
from streamreasoner.backends.columnar.kernels.settling.superaccumulator import (
    DIGITS_DOUBLE,
    read_integer,
)
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.values.sums import Sum, aggregate
from streamreasoner.values.valuation import UNITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.arena import Arena
    from streamreasoner.rdf.dictionary import Dictionary

_DOUBLE_UNITS = 1 << 1074  # the exact sum of doubles is in units of 2^-1074


def result(units: NDArray[np.int64], at: int, function: int) -> str | None:
    """The term of an aggregate; None if it does not fit 64 bits.

    Args:
        units: The arena.
        at: The first unit of the group's accumulators (`layout.SUM_NEXT`).
        function: One of `layout.FUNCTION_*`.
    """
    count = int(units[at + layout.SUM_COUNT])
    if function in (layout.FUNCTION_COUNT, layout.FUNCTION_DISTINCT):
        return to_ntriples(count)
    exact = UNITS * read_integer(units, at + layout.SUM_WHOLE, layout.SUM_DIGITS)
    exact += read_integer(units, at + layout.SUM_FRACTION, layout.SUM_DIGITS)
    total = Sum(
        count=count,
        exact=exact,
        has_decimals=bool(units[at + layout.SUM_DECIMALS]),
        has_doubles=bool(units[at + layout.SUM_DOUBLES]),
        positive_infinity=bool(units[at + layout.SUM_POSITIVE]),
        negative_infinity=bool(units[at + layout.SUM_NEGATIVE]),
        nan=bool(units[at + layout.SUM_NAN]),
    )
    finite = int(units[at + layout.SUM_FINITE])
    if finite != 0:
        total.finite = Fraction(read_integer(units, finite, DIGITS_DOUBLE), _DOUBLE_UNITS)
    return total.term(average=function == layout.FUNCTION_AVERAGE)


def group_result(state: Arena, dictionary: Dictionary, group: int) -> str | None:
    """The result term of a group, for kernels that cannot compute it."""
    units = state.units
    grouping = layout.ARRANGEMENT_WIDTH * (int(units[group]) & layout.LOW)
    row = int(state.column(layout.ARRANGEMENTS)[grouping + layout.ARRANGEMENT_REDUCTION]) - 1
    reductions = state.column(layout.REDUCTIONS)[row * layout.REDUCTION_WIDTH :]
    keys = int(reductions[layout.REDUCTION_KEYS])
    listing = state.tables.listing.get(row)
    if listing is not None:
        ids, times = _members(state.table, row * layout.REDUCTION_WIDTH, group)
        terms = map(dictionary.term, ids.tolist())
        return aggregate(listing, list(zip(terms, times.tolist(), strict=True)))
    function = int(reductions[layout.REDUCTION_FUNCTION])
    return result(units, group + (layout.GROUP_KEY + keys + 1) // 2, function)


def _members(
    table: layout.Int64s, reduction: int, group: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The ids of a reduction's group, each with its multiplicity."""
    no_ids, no_times = np.empty(0, np.int32), np.empty(0, np.int64)
    count = reduce.read_members(table, reduction, group, no_ids, no_times)
    ids, times = np.empty(count, np.int32), np.empty(count, np.int64)
    reduce.read_members(table, reduction, group, ids, times)
    return ids, times
