"""Golden programs on the Spark backend: what follows is the same, however updates are cut.

The first case of each family is run as it is written, and some in another way; with
HYPOTHESIS_PROFILE=thorough, every case in every way. Laws cut and order random programs, too.
"""

from __future__ import annotations

import pytest
from driver import Driver
from programs.cases import CUTS, read_all
from spark_backend import MARKS
from thorough import THOROUGH

pytestmark = MARKS

CASES = read_all()
SOME = {
    "aggregates-several": "one epoch",
    "lattice-of-triples": "shuffled",
    "negation-with-wildcards": "singletons",
    "skolem-terms": "shuffled",
}
"""They have every kind of node and group between them, and are cut in every way."""
EXAMPLES = {
    "access",
    "closure",
    "dataflow",
    "erasure",
    "generation",
    "materials",
    "pointers",
    "triangles",
}
"""Families that the examples belong to, which another module runs on Spark."""
FAMILIES = {name.partition("-")[0]: name for name in reversed(CASES)}
FIRST = {name for family, name in FAMILIES.items() if family not in EXAMPLES}
AS_WRITTEN = CASES if THOROUGH else sorted({*FIRST, *SOME})
WAYS = sorted({*SOME.values()})
OTHERWISE = [(name, cut) for name in CASES for cut in WAYS] if THOROUGH else SOME.items()


@pytest.mark.parametrize("name", AS_WRITTEN)
def test_as_written(spark_store, name):
    """Epoch by epoch the changes of derived facts are the oracle's, and so is the trace."""
    case = CASES[name]
    driver = Driver(case.checked, store=spark_store())

    found = [set(changed) for changed in driver.changes(case.epochs)]

    assert found == [set(changed) for changed in case.changes]
    assert driver.trace() == case.traces[-1]
    assert driver.closure() == case.closures[-1]


@pytest.mark.parametrize(("name", "cut"), OTHERWISE)
def test_cut_otherwise(spark_store, name, cut):
    """However the updates are cut and ordered, the trace in the end is the golden one."""
    case = CASES[name]
    driver = Driver(case.checked, store=spark_store())

    driver.changes(CUTS[cut](case.updates))

    assert driver.trace() == case.traces[-1]
    assert driver.closure() == case.closures[-1]
