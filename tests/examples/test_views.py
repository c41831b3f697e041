"""The documented views of DuckDB and polars have the present facts of each example."""

from __future__ import annotations

import documented_views
import pytest
from examples.cases import FOLDER, read_all

# An example without epochs of its own is a pipeline that is told by its session.
EXAMPLES = sorted({*read_all(), *(path.parent.name for path in FOLDER.glob("*/messages.jsonl"))})


@pytest.mark.parametrize("name", EXAMPLES)
def test_views_have_the_present_facts(name, tmp_path):
    """Of every predicate of the example, lattices included, after its last epoch."""
    facts = documented_views.store(name, tmp_path)
    duckdb = documented_views.program("duckdb", tmp_path)
    polars = documented_views.program("polars", tmp_path)

    for predicate, arity, best, expected in facts:
        query = f'SELECT * FROM "{predicate}"'  # noqa: S608 - the name of a predicate
        duckdb["view"](predicate, arity, best)
        polars["view"](predicate, arity, best)

        assert sorted(duckdb["database"].sql(query).fetchall()) == expected
        assert sorted(polars["views"].execute(query).collect().rows()) == expected
    duckdb["database"].close()
