"""The laws on the Spark backend: the same tests, with states in Spark.

States buffer different numbers of rows in the driver, so that rows come from there, from the table,
or from both. HYPOTHESIS_PROFILE=thorough runs more examples, some with so few rows in the driver
that steps read files.
"""

from __future__ import annotations

import itertools

import pytest
from backend_laws import LAWS, run
from hypothesis import HealthCheck, Phase, settings
from laws import test_incremental_equals_batch as incremental
from laws.test_join_order_is_irrelevant import shuffle
from spark_backend import MARKS
from thorough import THOROUGH

from streamreasoner.backends.spark.queries import spark_rows
from streamreasoner.backends.spark.tables import committed

pytestmark = MARKS

EXAMPLES = settings(
    max_examples=40 if THOROUGH else 2,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # An example may take seconds, so failures are not shrunk.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
SIZES = (
    [(committed.RECENT, spark_rows.MAX_DRIVER_ROWS)] * 2
    + [(40, spark_rows.MAX_DRIVER_ROWS)]
    + [(40, 3)] * THOROUGH
)


@pytest.fixture
def new_store(spark_store, monkeypatch):
    """Makes stores in Spark, the next one with the next sizes."""
    sizes = itertools.cycle(SIZES)

    def make():
        recent, few = next(sizes)
        monkeypatch.setattr(committed, "RECENT", recent)
        monkeypatch.setattr(spark_rows, "MAX_DRIVER_ROWS", few)
        return spark_store()

    return make


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_holds(law, new_store, monkeypatch):
    """A law of the reasoner holds with its state in Spark."""
    run(law, new_store, EXAMPLES, monkeypatch)


def test_the_order_of_joins_is_irrelevant(new_store, monkeypatch):
    """The trace stays that of the oracle if joins are ordered at random."""
    shuffle(monkeypatch, 0)
    run(
        incremental.test_trace_equals_from_scratch_after_every_epoch,
        new_store,
        EXAMPLES,
        monkeypatch,
    )
