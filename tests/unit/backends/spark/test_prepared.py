"""Queries in the driver: rows are those of a query that is planned anew, from run to run."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from streamreasoner.backends.spark.queries import prepared
from streamreasoner.backends.spark.queries.prepared import PreparedQueries

QUERIES = (
    ("SELECT a, b FROM rows", ("rows",)),
    ("SELECT a, CAST(sum(b) AS BIGINT) AS b FROM rows GROUP BY a", ("rows",)),
    ("SELECT l.a, r.b FROM left_ AS l, right_ AS r WHERE l.b = r.a", ("left_", "right_")),
    ("SELECT * FROM rows WHERE (a, b) NOT IN (SELECT a, b FROM left_)", ("rows", "left_")),
    ("SELECT count(*) AS n FROM rows AS x, rows AS y WHERE x.a = y.b", ("rows",)),
)
# The same names with other types: a plan belongs to the types too.
TYPES = (pa.int64(), pa.int32())
CELLS = st.one_of(st.none(), st.integers(-2, 2))
RUNS = st.lists(
    st.tuples(
        st.sampled_from(QUERIES),
        st.sampled_from(TYPES),
        st.lists(st.tuples(CELLS, CELLS), max_size=6),
        st.lists(st.tuples(CELLS, CELLS), max_size=6),
    ),
    max_size=12,
)


def table(rows, kind):
    """Two columns, in as many chunks as there are rows."""
    form = pa.schema([("a", kind), ("b", kind)])
    chunks = [pa.record_batch([[a], [b]], schema=form) for a, b in rows]
    return pa.Table.from_batches(chunks, form)


def planned_anew(text, tables):
    """The result in a database that has seen no other query."""
    with duckdb.connect() as database:
        for name, rows in tables.items():
            database.register(name, rows)
        return database.sql(text).to_arrow_table()


def bag(found):
    """The rows, in no order."""
    return sorted(map(repr, found.to_pylist()))


def statements(queries):
    """How many statements the database has."""
    [[count]] = queries._database.execute(  # noqa: SLF001 - not shown elsewhere
        "SELECT count(*) FROM duckdb_prepared_statements()"
    ).fetchall()
    return count


def added(number):
    """One query for each number."""
    return f"SELECT a + {number} AS n FROM rows"  # noqa: S608 - a number of this module


@given(RUNS)
@settings(max_examples=200 if THOROUGH else 10)
def test_rows_are_those_of_a_query_planned_anew(runs):
    """Queries, types and rows follow each other in any order."""
    queries = PreparedQueries()
    for (text, names), kind, *rows in runs:
        tables = dict(zip(names, (table(some, kind) for some in rows), strict=False))
        found, expected = queries.run(text, tables), planned_anew(text, tables)

        assert found.schema == expected.schema
        assert bag(found) == bag(expected)


def test_a_query_is_planned_once():
    """Rows may differ, and be none; other types are planned by themselves."""
    queries = PreparedQueries()
    text = "SELECT a, b FROM rows"
    for rows in ([(1, 2)], [], [(3, 4)] * 5):
        assert queries.run(text, {"rows": table(rows, pa.int64())}).num_rows == len(rows)
    assert statements(queries) == 1

    queries.run(text, {"rows": table([], pa.int32())})
    assert statements(queries) == 2


def test_the_plan_used_least_recently_goes(monkeypatch):
    """The database has as many statements as may be kept, and those used last."""
    monkeypatch.setattr(prepared, "MAX_STATEMENTS", 2)
    queries = PreparedQueries()
    tables = {"rows": table([(1, 2)], pa.int64())}

    for number in (0, 1, 0, 2, 0, 3, 1):
        found = queries.run(added(number), tables)
        assert found.to_pylist() == [{"n": 1 + number}]
        assert statements(queries) <= 2

    kept = queries._statements  # noqa: SLF001 - which plans are left is not shown elsewhere
    assert [key[0] for key in kept] == [added(3), added(1)]


def test_no_rows_are_kept():
    """What a query has read is free when it has ended."""
    queries = PreparedQueries()
    queries.run("SELECT a FROM rows", {"rows": table([(1, 2)], pa.int64())})

    assert all(each.table is None for each in queries._inputs.values())  # noqa: SLF001 - see above


def test_a_failed_query_changes_nothing():
    """The next one has its own rows."""
    queries = PreparedQueries()
    text = "SELECT CAST(a * 4611686018427387904 AS BIGINT) AS n FROM rows"
    with pytest.raises(duckdb.Error):
        queries.run(text, {"rows": table([(2, 0)], pa.int64())})

    found = queries.run(text, {"rows": table([(1, 0)], pa.int64())})
    assert found.to_pylist() == [{"n": 1 << 62}]
