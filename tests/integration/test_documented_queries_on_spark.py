"""The views that the documents make with Spark have the present facts of the examples."""

from __future__ import annotations

import documented_views
import pytest
from examples.cases import FOLDER
from spark_jvm import MARKS
from thorough import THOROUGH

pytestmark = MARKS

EXAMPLES = ["gdpr-erasure", "shortest-paths"]
"""Those with triples, and with recursive lattices."""
if THOROUGH:
    EXAMPLES = sorted(path.parent.name for path in FOLDER.glob("*/rules.dl"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_views_have_the_present_facts(name, spark, tmp_path):
    """Of every lattice of the example, and of one other predicate; of all in the long profile."""
    facts = documented_views.store(name, tmp_path)
    program = documented_views.program("pyspark", f"file:{tmp_path}")
    assert program["spark"].sparkContext is spark.sparkContext
    others = [each for each in facts if each[2] is None]
    chosen = facts if THOROUGH else [each for each in facts if each[2] is not None] + others[-1:]

    for predicate, arity, best, expected in chosen:
        program["view"](predicate, arity, best)
        rows = spark.sql(f"SELECT * FROM {predicate}").collect()  # noqa: S608 - a predicate

        assert sorted(tuple(row) for row in rows) == expected
