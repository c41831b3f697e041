"""Lattices and reductions. Invariant: what a group says follows from its candidates alone.

A lattice's winner at an iteration is the best candidate whose multiplicities up to there sum to
more than nothing. A reduction's result is the aggregate of its candidates, each as often as its
multiplicity says.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamreasoner.backends.spark.columns import ITERATION, MULTIPLICITY, PREDICATE, argument
from streamreasoner.backends.spark.patterns import quoted
from streamreasoner.backends.spark.ranks import rank
from streamreasoner.plan.aggregation import RESULT
from streamreasoner.plan.algebra import Arrangement, Column, Value
from streamreasoner.rdf.functions.sums import Sum, sum_of
from streamreasoner.rdf.terms import to_ntriples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import DataFrame

    from streamreasoner.backends.spark.relation import QueryRunner, Relation
    from streamreasoner.backends.spark.terms import Terms
    from streamreasoner.plan.algebra import Lattice, Reduction

RANK = "rank"
OLD = "old"
_TEXT = "text"
_RESULT = "result"
_TIMES = (OLD, MULTIPLICITY)
_PART = "part"
_PARTS = 64
_COUNTS: dict[str, Callable[[int], int]] = {
    "count": lambda times: times,
    "count distinct": lambda times: int(times > 0),
}


def group_of_lattice(lattice: Lattice) -> Arrangement:
    """Its candidates by all arguments but the one that decides."""
    return Arrangement(lattice.pattern.predicate, lattice.pattern.constants, lattice.key)


def group_of_reduction(reduction: Reduction) -> Arrangement:
    """Its candidates by the columns of the group."""
    return Arrangement(reduction.candidates, (), reduction.key)


def with_ranks(runner: QueryRunner, terms: Terms, rows: Relation, column: str) -> Relation:
    """Rows with one more column: bytes that compare as the terms of a column do."""
    if rows.table is not None:
        ids = rows.table[column].to_pylist()
        known = {one: rank(text) for one, text in terms.texts(ids).items()}
        ranks = pa.array([known[one] for one in ids], pa.binary())
        return runner.from_table(rows.table.append_column(RANK, ranks))
    frame = terms.attach(rows.frame, column, _TEXT)
    return runner.from_frame(frame.withColumn(RANK, F.udf(rank, "binary")(_TEXT)))


def results(
    runner: QueryRunner, terms: Terms, reduction: Reduction, candidates: Relation, width: int
) -> Relation:
    """The head facts that come or go because candidates changed.

    Args:
        runner: Runs the queries.
        terms: Terms of ids.
        reduction: The reduction.
        candidates: All candidates of the groups that changed, each once: arguments, multiplicity
            before the epoch and now.
        width: Columns of arguments.

    Returns:
        Head facts, iteration 1, at which a reduction derives, and 1 or -1.
    """
    keys = [argument(position) for position in reduction.key]
    value = argument(len(keys))
    if candidates.table is not None:
        changed = runner.from_table(_in_driver(terms, reduction, candidates.table, keys, value))
    elif reduction.function in _COUNTS:
        changed = runner.materialize(runner.from_frame(_counted(reduction, candidates.frame, keys)))
    else:
        changed = runner.materialize(
            runner.from_frame(_summed(terms, reduction, candidates.frame, keys, value))
        )
    cells = ["0"] * width
    for position, one in enumerate(reduction.head.arguments):
        match one:
            case Column(name):
                cells[position] = _RESULT if name == RESULT else argument(int(name[1:]))
            case Value(term):
                cells[position] = str(terms.intern(term))
    head = ", ".join(f"CAST({cell} AS BIGINT) AS {argument(i)}" for i, cell in enumerate(cells))
    return runner.query(
        f"SELECT {quoted(reduction.head.predicate)} AS {PREDICATE}, {head}, 1 AS {ITERATION},"
        f" {MULTIPLICITY} FROM changed",
        changed=terms.identify(changed, _TEXT, _RESULT),
    )


def aggregate(
    function: str, candidates: Iterable[tuple[str, int]], overflowed: Callable[[], object]
) -> str | None:
    """The aggregate of terms, each so many times, as a canonical term; None if it has no value."""
    if function in _COUNTS:
        counted = _COUNTS[function]
        total = sum(counted(times) for _, times in candidates)
        return to_ntriples(total) if total > 0 else None
    return _term(function, sum_of(candidates), overflowed)


def _term(function: str, found: Sum, overflowed: Callable[[], object]) -> str | None:
    if found.count == 0:
        return None
    term = found.term(average=function == "avg")
    if term is None:
        overflowed()
    return term


def _in_driver(
    terms: Terms, reduction: Reduction, table: pa.Table, keys: Sequence[str], value: str
) -> pa.Table:
    """Keys, terms and signs of results that change, from few candidates."""
    ids = table[value].to_pylist() if reduction.function not in _COUNTS else [0] * table.num_rows
    texts = terms.texts(ids) if reduction.function not in _COUNTS else {0: ""}
    groups: dict[tuple[int, ...], list[tuple[str, int, int]]] = defaultdict(list)
    # A group without key has no columns, so rows are told by their number.
    of = zip(*(table[key].to_pylist() for key in keys)) if keys else repeat((), table.num_rows)  # noqa: B905 - all of one table
    times = (table[OLD].to_pylist(), table[MULTIPLICITY].to_pylist())
    for key, one, old, new in zip(of, ids, *times, strict=True):
        groups[key].append((texts[one], old, new))
    changed = []
    for key, group in groups.items():
        before, after = (
            aggregate(reduction.function, candidates, terms.overflowed)
            for candidates in (
                [(text, old) for text, old, _ in group],
                [(text, new) for text, _, new in group],
            )
        )
        if before != after:
            changed += [(*key, text, sign) for text, sign in ((before, -1), (after, 1)) if text]
    rows = list(zip(*changed, strict=True)) or [()] * (len(keys) + 2)
    kinds = [pa.int64()] * len(keys) + [pa.string(), pa.int64()]
    arrays = [pa.array(row, kind) for row, kind in zip(rows, kinds, strict=True)]
    return pa.table(arrays, [*keys, _TEXT, MULTIPLICITY])


def _counted(reduction: Reduction, frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The same from many, for counts."""
    one = "{0}" if reduction.function == "count" else "CAST({0} > 0 AS BIGINT)"
    opening, closing = map(quoted, to_ntriples(0).split("0", 1))
    totals = frame.groupBy(*keys).agg(
        *(F.expr(f"sum({one.format(name)}) AS {name}") for name in (OLD, MULTIPLICITY))
    )
    terms = (f"IF({name} > 0, concat({opening}, {name}, {closing}), NULL)" for name in _TIMES)
    return _changed(totals.selectExpr(*keys, *map("{} AS {}".format, terms, _TIMES)), keys)


def _summed(
    terms: Terms, reduction: Reduction, frame: DataFrame, keys: Sequence[str], value: str
) -> DataFrame:
    """The same from many, for sums: a group may be more than one executor holds, so in parts."""
    function, overflowed = reduction.function, terms.overflowed
    part = F.udf(lambda rows: pickle.dumps(sum_of(rows)), "binary")
    whole = F.udf(
        lambda parts: _term(function, reduce(Sum.__add__, map(_sum, parts)), overflowed), "string"
    )
    rows = terms.attach(frame.select(*keys, value, *_TIMES), value, _TEXT)
    parts = rows.groupBy(*keys, F.expr(f"{value} % {_PARTS}").alias(_PART)).agg(
        *(part(F.collect_list(F.struct(_TEXT, name))).alias(name) for name in _TIMES)
    )
    found = parts.groupBy(*keys).agg(*(whole(F.collect_list(name)).alias(name) for name in _TIMES))
    return _changed(found, keys)


def _sum(part: bytes) -> Sum:
    found = pickle.loads(part)  # noqa: S301 - what an executor has made of a part
    assert isinstance(found, Sum)  # noqa: S101 - see above
    return found


def _changed(frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Keys, terms and signs, from the terms that were and those that are."""
    signed = (
        f"explode(array(named_struct('{_TEXT}', {OLD}, '{MULTIPLICITY}', -1L),"
        f" named_struct('{_TEXT}', {MULTIPLICITY}, '{MULTIPLICITY}', 1L))) AS one"
    )
    rows = frame.filter(f"NOT {OLD} <=> {MULTIPLICITY}").selectExpr(*keys, signed)
    return rows.selectExpr(*keys, "one.*").filter(F.col(_TEXT).isNotNull())
