"""Lattices and reductions. Invariant: the result of a group depends on its candidates alone.

A lattice's winner at an iteration is the best candidate whose multiplicities up to that iteration
sum to more than 0. A reduction's result is the aggregate of its candidates, each repeated by its
multiplicity.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import (
    MULTIPLICITY,
    OLD,
    PREDICATE,
    RANK,
    argument,
)
from streamreasoner.plan.algebra import Arrangement
from streamreasoner.plan.operands import RESULT, Column, Value
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.values.order import order_key
from streamreasoner.values.sums import CHOOSING, COUNTING, LISTING, Sum, aggregate, sum_of, term_of
from streamreasoner.values.sums import results as aggregated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from streamreasoner.backends.spark.epoch.term_lookup import TermLookup
    from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
    from streamreasoner.plan.program_plan import Lattice, Reduction

_TEXT = "text"
_RESULT = "result"
_TIMES = (OLD, MULTIPLICITY)
_PART = "part"
_PARTS = 64


def group_of_lattice(lattice: Lattice) -> Arrangement:
    """The candidates of a lattice, keyed by all arguments but the compared one."""
    return Arrangement(lattice.pattern.predicate, lattice.pattern.constants, lattice.key)


def group_of_reduction(reduction: Reduction) -> Arrangement:
    """The candidates of a reduction, keyed by the columns of the group."""
    return Arrangement(reduction.candidates, (), reduction.key)


def with_ranks(runner: QueryRunner, terms: TermLookup, rows: SparkRows, column: str) -> SparkRows:
    """Rows with a column of ranks added: bytes that compare as the terms of *column* do."""
    if rows.table is not None:
        ids = rows.table[column].to_pylist()
        rank_of = {term_id: order_key(text) for term_id, text in terms.texts(ids).items()}
        ranks = pa.array([rank_of[term_id] for term_id in ids], pa.binary())
        return runner.from_table(rows.table.append_column(RANK, ranks))
    frame = terms.attach(rows.frame, column, _TEXT)
    return runner.from_frame(frame.withColumn(RANK, F.udf(order_key, "binary")(_TEXT)))


def winning(
    runner: QueryRunner,
    terms: TermLookup,
    lattice: Lattice,
    candidates: SparkRows,
    fact: Sequence[str],
) -> SparkRows:
    """Changed transitions of a lattice's candidates: the new winner replaces the former one.

    Args:
        runner: Runs the queries.
        terms: Terms of ids.
        lattice: The lattice.
        candidates: Facts with their multiplicities up to an iteration and before it, and
            transitions at it.
        fact: Columns that identify a fact.
    """
    group = (PREDICATE, *map(argument, lattice.key))
    value = argument(lattice.position)
    rows = with_ranks(runner, terms, candidates, value)
    winners = runner.query(sql.winners(lattice.function, group, value), rows=rows)
    return runner.query(sql.replacing(fact, group, value), rows=rows, winners=winners)


def results(
    runner: QueryRunner, terms: TermLookup, reduction: Reduction, candidates: SparkRows, width: int
) -> SparkRows:
    """The head facts that appear or disappear because candidates changed.

    Args:
        runner: Runs the queries.
        terms: Terms of ids.
        reduction: The reduction.
        candidates: All candidates of the changed groups, each once: arguments, multiplicity
            before the epoch and now.
        width: Number of argument columns.

    Returns:
        Head facts, iteration 1 (where reductions derive) and multiplicity 1 or -1.
    """
    keys = [argument(position) for position in reduction.key]
    value = argument(len(keys))
    if candidates.table is not None:
        changed = runner.from_table(_in_driver(terms, reduction, candidates.table, keys, value))
    else:
        frame = candidates.frame
        if reduction.function in COUNTING:
            changed_rows = _counted(reduction, frame, keys)
        elif reduction.name in CHOOSING:
            changed_rows = _chosen(terms, reduction, frame, keys, value)
        elif reduction.name in LISTING:
            changed_rows = _listed(terms, reduction, frame, keys, value)
        else:
            changed_rows = _summed(terms, reduction, frame, keys, value)
        changed = runner.materialize(runner.from_frame(changed_rows))
    cells = ["0"] * width
    for position, operand in enumerate(reduction.head.arguments):
        match operand:
            case Column(name):
                cells[position] = _RESULT if name == RESULT else argument(int(name[1:]))
            case Value(term):
                cells[position] = str(terms.intern(term))
    return runner.query(
        sql.heads(reduction.head.predicate, cells), changed=terms.identify(changed, _TEXT, _RESULT)
    )


def _in_driver(
    terms: TermLookup, reduction: Reduction, table: pa.Table, keys: Sequence[str], value: str
) -> pa.Table:
    """Keys, terms and signs of changed results, from few candidates."""
    ids = table[value].to_pylist() if reduction.function not in COUNTING else [0] * table.num_rows
    texts = terms.texts(ids) if reduction.function not in COUNTING else {0: ""}
    groups: dict[tuple[int, ...], list[tuple[str, int, int]]] = defaultdict(list)
    # A reduction without a key has one group: an empty key for each row.
    group_keys = (
        zip(*(table[key].to_pylist() for key in keys), strict=True)
        if keys
        else repeat((), table.num_rows)
    )
    times = (table[OLD].to_pylist(), table[MULTIPLICITY].to_pylist())
    for key, term_id, old, new in zip(group_keys, ids, *times, strict=True):
        groups[key].append((texts[term_id], old, new))
    changed = []
    for key, group in groups.items():
        before, after = (
            frozenset(aggregated(reduction.function, candidates, terms.overflowed))
            for candidates in (
                [(text, old) for text, old, _ in group],
                [(text, new) for text, _, new in group],
            )
        )
        changed += [(*key, text, -1) for text in before - after]
        changed += [(*key, text, 1) for text in after - before]
    rows = list(zip(*changed, strict=True)) or [()] * (len(keys) + 2)
    kinds = [pa.int64()] * len(keys) + [pa.string(), pa.int64()]
    arrays = [pa.array(row, kind) for row, kind in zip(rows, kinds, strict=True)]
    return pa.table(arrays, [*keys, _TEXT, MULTIPLICITY])


def _counted(reduction: Reduction, frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Keys, terms and signs of changed counts, from many candidates."""
    counted = "{0}" if reduction.function == "count" else "CAST({0} > 0 AS BIGINT)"
    opening, closing = map(sql.quoted, to_ntriples(0).split("0", 1))
    totals = frame.groupBy(*keys).agg(
        *(F.expr(f"sum({counted.format(name)}) AS {name}") for name in (OLD, MULTIPLICITY))
    )
    terms = (f"IF({name} > 0, concat({opening}, {name}, {closing}), NULL)" for name in _TIMES)
    return _changed(totals.selectExpr(*keys, *map("{} AS {}".format, terms, _TIMES)), keys)


def _summed(
    terms: TermLookup, reduction: Reduction, frame: DataFrame, keys: Sequence[str], value: str
) -> DataFrame:
    """Keys, terms and signs of changed sums. A group may not fit one executor: sum it in parts."""
    function, overflowed = reduction.function, terms.overflowed
    part = F.udf(lambda rows: pickle.dumps(sum_of(rows)), "binary")
    whole = F.udf(
        lambda parts: term_of(reduce(Sum.__add__, map(_sum, parts)), function, overflowed), "string"
    )
    rows = terms.attach(frame.select(*keys, value, *_TIMES), value, _TEXT)
    parts = rows.groupBy(*keys, F.expr(f"{value} % {_PARTS}").alias(_PART)).agg(
        *(part(F.collect_list(F.struct(_TEXT, name))).alias(name) for name in _TIMES)
    )
    summed = parts.groupBy(*keys).agg(*(whole(F.collect_list(name)).alias(name) for name in _TIMES))
    return _changed(summed, keys)


def _chosen(
    terms: TermLookup, reduction: Reduction, frame: DataFrame, keys: Sequence[str], value: str
) -> DataFrame:
    """Keys, terms and signs of values that are chosen, or are no more, from many candidates."""
    rows = terms.attach(frame.select(*keys, value, *_TIMES), value, _TEXT)
    rows = rows.withColumn(RANK, F.udf(order_key, "binary")(_TEXT))
    best = F.desc(RANK) if reduction.name == "highest" else F.asc(RANK)
    place = F.row_number().over(Window.partitionBy(*keys).orderBy(best))
    before, after = (
        rows.filter(f"{name} > 0")
        .withColumn(_PART, place)
        .filter(F.col(_PART) <= int(reduction.parameter))
        .select(*keys, _TEXT, F.lit(sign).cast("bigint").alias(MULTIPLICITY))
        for name, sign in ((OLD, -1), (MULTIPLICITY, 1))
    )
    signs = before.unionAll(after).groupBy(*keys, _TEXT)
    return signs.agg(F.sum(MULTIPLICITY).alias(MULTIPLICITY)).filter(f"{MULTIPLICITY} != 0")


def _listed(
    terms: TermLookup, reduction: Reduction, frame: DataFrame, keys: Sequence[str], value: str
) -> DataFrame:
    """Keys, terms and signs of changed results, each of which one executor makes of all terms."""
    function = reduction.function
    result = F.udf(lambda rows: aggregate(function, rows), "string")
    rows = terms.attach(frame.select(*keys, value, *_TIMES), value, _TEXT)
    found = rows.groupBy(*keys).agg(
        *(result(F.collect_list(F.struct(_TEXT, name))).alias(name) for name in _TIMES)
    )
    return _changed(found, keys)


def _sum(part: bytes) -> Sum:
    partial = pickle.loads(part)  # noqa: S301 - pickled by an executor, in `_summed`
    assert isinstance(partial, Sum)  # noqa: S101 - see above
    return partial


def _changed(frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Keys, terms and signs, from the terms before and after."""
    signed = (
        f"explode(array(named_struct('{_TEXT}', {OLD}, '{MULTIPLICITY}', -1L),"
        f" named_struct('{_TEXT}', {MULTIPLICITY}, '{MULTIPLICITY}', 1L))) AS entry"
    )
    rows = frame.filter(f"NOT {OLD} <=> {MULTIPLICITY}").selectExpr(*keys, signed)
    return rows.selectExpr(*keys, "entry.*").filter(F.col(_TEXT).isNotNull())
