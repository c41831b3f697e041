"""Arrow tables as blocks of the port: each row is in the block of its predicate, as it is."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.spark.in_driver import FEW

from streamreasoner.backends.spark.epoch.arrow_tables import args_of, changes, trace_of, traces
from streamreasoner.backends.spark.queries.columns import (
    CLOSURE,
    ITERATION,
    MULTIPLICITY,
    PREDICATE,
    arguments,
    schema,
)

ARITIES = {"none": 0, "it's": 1, "wide": 3}
NAMES = (PREDICATE, *arguments(3), ITERATION, MULTIPLICITY, CLOSURE)
IDS = st.one_of(st.integers(0, 7), st.integers(0, 10**6))
NUMBERS = st.tuples(st.integers(0, 5), st.sampled_from((0, 1, -2, 1 << 40)), st.integers(-1, 1))
ROWS = st.lists(
    st.tuples(st.sampled_from(sorted(ARITIES)), st.tuples(IDS, IDS, IDS), NUMBERS).map(
        lambda row: _row(*row)
    ),
    max_size=12,
)


def _row(predicate, ids, numbers):
    arity = ARITIES[predicate]
    return predicate, *ids[:arity], *[0] * (3 - arity), *numbers


def table(rows):
    """Rows as a table in some chunks, as a concatenation is."""
    form = schema(NAMES)
    parts = [
        pa.Table.from_pylist([dict(zip(NAMES, row, strict=True)) for row in part], schema=form)
        for part in (rows[:3], rows[3:])
    ]
    return pa.concat_tables(parts)


@FEW
@given(ROWS)
def test_a_trace_has_the_rows_with_a_multiplicity(rows):
    """One block for each predicate, whose facts have as many arguments as its arity."""
    blocks = list(traces(table(rows), ARITIES))

    assert len({block.predicate for block in blocks}) == len(blocks)
    assert sorted(_rows(blocks, "iteration", "multiplicity")) == sorted(
        (row[0], row[1 : 1 + ARITIES[row[0]]], *row[4:6]) for row in rows if row[5]
    )


@FEW
@given(ROWS)
def test_changes_are_the_rows_with_a_sign(rows):
    """Facts that did not change are in no block."""
    blocks = list(changes(table(rows), CLOSURE, ARITIES))

    assert len({block.predicate for block in blocks}) == len(blocks)
    assert sorted(_rows(blocks, "multiplicity")) == sorted(
        (row[0], row[1 : 1 + ARITIES[row[0]]], row[6]) for row in rows if row[6]
    )


@FEW
@given(ROWS)
def test_one_predicate_keeps_all_its_rows_in_their_order(rows):
    """Rows that are known to be of one predicate are not looked at."""
    rows = [row for row in rows if row[0] == "wide"]
    block = trace_of("wide", 3, table(rows))

    assert list(_rows([block], "iteration", "multiplicity")) == [
        ("wide", row[1:4], *row[4:6]) for row in rows
    ]
    assert args_of(table(rows), 2).tolist() == [list(row[1:3]) for row in rows]


def _rows(blocks, *columns):
    for block in blocks:
        values = [getattr(block, column).tolist() for column in columns]
        for args, *rest in zip(block.args.tolist(), *values, strict=True):
            yield block.predicate, tuple(args), *rest
