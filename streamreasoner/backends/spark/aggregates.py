"""Lattices and reductions. Invariant: what a group says follows from its candidates alone.

A lattice's winner at an iteration is the best candidate whose multiplicities up to there sum to
more than nothing. A reduction's result is the aggregate of its candidates, each as often as its
multiplicity says.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamreasoner.backends.spark.columns import (
    ITERATION,
    MULTIPLICITY,
    PREDICATE,
    argument,
    arguments,
)
from streamreasoner.backends.spark.patterns import quoted
from streamreasoner.backends.spark.ranks import rank
from streamreasoner.plan.aggregation import RESULT
from streamreasoner.plan.algebra import Arrangement, Column, Value
from streamreasoner.rdf.functions.sums import sum_of
from streamreasoner.rdf.terms import to_ntriples

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame

    from streamreasoner.backends.spark.relation import Relation, Steps
    from streamreasoner.backends.spark.terms import Terms
    from streamreasoner.plan.algebra import Lattice, Reduction

RANK = "rank"
OLD = "old"
_TEXT = "text"


def group_of_lattice(lattice: Lattice) -> Arrangement:
    """Its candidates by all arguments but the one that decides."""
    return Arrangement(lattice.pattern.predicate, lattice.pattern.constants, lattice.key)


def group_of_reduction(reduction: Reduction) -> Arrangement:
    """Its candidates by the columns of the group."""
    return Arrangement(reduction.candidates, (), reduction.key)


def with_ranks(steps: Steps, terms: Terms, rows: Relation, column: str) -> DataFrame:
    """Rows with one more column: bytes that compare as the terms of a column do."""
    if rows.table is not None:
        ids = rows.table[column].to_pylist()
        known = {one: rank(text) for one, text in terms.texts(ids).items()}
        ranks = pa.array([known[one] for one in ids], pa.binary())
        return steps.local(rows.table.append_column(RANK, ranks)).frame
    frame = terms.attach(rows.frame, column, _TEXT)
    return frame.withColumn(RANK, F.udf(rank, "binary")(_TEXT)).drop(_TEXT)


def results(
    steps: Steps, terms: Terms, reduction: Reduction, candidates: Relation, width: int
) -> Relation:
    """The head facts that come or go because candidates changed.

    Args:
        steps: Cuts.
        terms: Terms of ids.
        reduction: The reduction.
        candidates: All candidates of the groups that changed, each once: arguments, multiplicity
            before the epoch and now.
        width: Columns of arguments.

    Returns:
        Arguments of head facts, and 1 or -1.
    """
    size = len(reduction.key)
    keys = [argument(position) for position in range(size)]
    columns = [*keys, argument(size), OLD, MULTIPLICITY]
    if size == width:
        columns.remove(argument(size))
    # One row for each candidate of a changed group: aggregating is the driver's.
    table = candidates.table
    if table is None:
        table = candidates.frame.select(*columns).toArrow()
    groups: dict[tuple[int, ...], list[tuple[int, int, int]]] = defaultdict(list)
    data = [table[name].to_pylist() for name in columns]
    for row in zip(*data, strict=True):
        value = row[size] if len(row) > size + 2 else 0
        groups[row[:size]].append((value, row[-2], row[-1]))
    texts = {}
    if reduction.function in ("sum", "avg"):
        texts = terms.texts(value for group in groups.values() for value, _, _ in group)
    changed = []
    for key, group in groups.items():
        before = aggregate(reduction.function, [(texts.get(v, ""), o) for v, o, _ in group])
        after = aggregate(reduction.function, [(texts.get(v, ""), n) for v, _, n in group])
        if before != after:
            changed += [(key, before, -1), (key, after, 1)]
    ids = terms.intern_all(result for _, result, _ in changed if result is not None)
    found = [
        (_head(reduction, key, ids[result], terms), sign)
        for key, result, sign in changed
        if result is not None
    ]
    return steps.local(_rows(found, width))


def as_counts(reduction: Reduction, heads: Relation, width: int) -> DataFrame:
    """Results as multiplicities of facts: a reduction derives at iteration 1."""
    return heads.frame.selectExpr(
        f"{quoted(reduction.head.predicate)} AS {PREDICATE}",
        *arguments(width),
        f"1 AS {ITERATION}",
        MULTIPLICITY,
    )


def aggregate(function: str, candidates: Iterable[tuple[str, int]]) -> str | None:
    """The aggregate of terms, each so many times, as a canonical term; None if it has no value."""
    if function == "count":
        total = sum(times for _, times in candidates)
        return to_ntriples(total) if total > 0 else None
    if function == "count distinct":
        total = sum(times > 0 for _, times in candidates)
        return to_ntriples(total) if total > 0 else None
    found = sum_of(candidates)
    return None if found is None else found.term(average=function == "avg")


def _head(reduction: Reduction, key: Sequence[int], result: int, terms: Terms) -> tuple[int, ...]:
    cells = []
    for one in reduction.head.arguments:
        match one:
            case Column(name):
                cells.append(result if name == RESULT else key[int(name[1:])])
            case Value(term):
                cells.append(terms.intern(term))
    return tuple(cells)


def _rows(found: Sequence[tuple[tuple[int, ...], int]], width: int) -> pa.Table:
    data: dict[str, pa.Array] = {
        argument(position): pa.array(
            [head[position] if position < len(head) else 0 for head, _ in found], pa.int64()
        )
        for position in range(width)
    }
    data[MULTIPLICITY] = pa.array([sign for _, sign in found], pa.int64())
    return pa.table(data)
