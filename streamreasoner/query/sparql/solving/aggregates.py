"""Aggregates of groups (SPARQL 1.1, section 18.5.1). Invariant: they read solutions as a multiset.

`COUNT`, `SUM`, `AVG`, `MIN` and `MAX` are those of rules: a sum is exact, and an order is total.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.query.sparql.computing.functions import promoted
from streamreasoner.query.sparql.query_terms import UNBOUND
from streamreasoner.query.sparql.solving.rows import Rows, group
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.values.literal import canonical
from streamreasoner.values.numbers import number
from streamreasoner.values.order import order_key
from streamreasoner.values.sums import aggregate, concatenated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from streamreasoner.query.sparql.query_terms import QueryTerms
    from streamreasoner.sparql.algebra import Aggregation

_ZERO = to_ntriples(0)


def aggregated(
    rows: Rows,
    keys: Sequence[str],
    aggregates: Sequence[tuple[str, Aggregation, NDArray[np.int32] | None]],
    terms: QueryTerms,
    *,
    is_whole: bool,
) -> Rows:
    """One row for each group.

    Args:
        rows: The solutions.
        keys: The variables whose values make a group.
        aggregates: The variable of each aggregate, the aggregate, and its argument in each row,
            int32 of shape (n,); None for `COUNT(*)`.
        terms: The terms of the query.
        is_whole: Whether all solutions are one group, even without any solution.
    """
    first, groups = group([rows.columns[key] for key in keys], rows.count)
    count = max(len(first), 1) if is_whole and not keys else len(first)
    columns = {key: rows.columns[key][first] for key in keys}
    for variable, aggregation, argument in aggregates:
        values = _all_rows(rows) if argument is None else argument
        found = _aggregate(aggregation, values, groups, count, terms)
        columns[variable] = np.array(found, np.int32)
    return Rows(columns, count)


def _all_rows(rows: Rows) -> NDArray[np.int64]:
    """A number for each different row, which `COUNT(*)` counts."""
    return group(list(rows.columns.values()), rows.count)[1]


def _aggregate(
    aggregation: Aggregation,
    values: NDArray[np.signedinteger],
    groups: NDArray[np.int64],
    count: int,
    terms: QueryTerms,
) -> list[int]:
    """The ids of the results, one for each group."""
    is_bound = values != UNBOUND
    pairs = np.stack([groups[is_bound], values[is_bound].astype(np.int64)])
    distinct, times = np.unique(pairs, axis=1, return_counts=True)
    if aggregation.distinct:
        times = np.ones_like(times)
    if aggregation.function == "COUNT":
        counts = np.bincount(distinct[0], weights=times, minlength=count)
        return [terms.find(to_ntriples(int(each))) for each in counts]
    has_error = np.bincount(groups[~is_bound], minlength=count) > 0
    starts = np.searchsorted(distinct[0], np.arange(count + 1))
    weights = list(zip(terms.decode(distinct[1]).to_pylist(), times.tolist(), strict=True))
    results = []
    for each in range(count):
        weighted = weights[starts[each] : starts[each + 1]]
        result = _of_group(aggregation, weighted, has_error=bool(has_error[each]))
        results.append(UNBOUND if result is None else terms.find(result))
    return results


def _of_group(
    aggregation: Aggregation, terms: list[tuple[str, int]], *, has_error: bool
) -> str | None:
    """The result of a group: its terms, each with its multiplicity, and whether one is missing."""
    match aggregation.function:
        case "SAMPLE":
            return min((term for term, _ in terms), key=order_key, default=None)
        case _ if has_error:
            return None
        case "SUM" | "AVG" as function:
            if any(number(term) is None for term, _ in terms):
                return None
            total = aggregate(function.lower(), terms) if terms else _ZERO
            return promoted(total, (term for term, _ in terms))
        case "MIN" | "MAX" as function:
            return aggregate(function.lower(), terms) if terms else None
        case _:
            separator = aggregation.separator
            return concatenated(terms, separator) if terms else canonical("")
