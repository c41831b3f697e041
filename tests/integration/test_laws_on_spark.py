"""The laws on the Spark backend: the same tests, with states in Spark.

States buffer different numbers of rows in the driver, so that rows come from there, from the table,
or from both. HYPOTHESIS_PROFILE=thorough runs more examples, some with so few rows in the driver
that steps read files.
"""

from __future__ import annotations

import itertools

import pytest
from driver import Driver
from hypothesis import HealthCheck, Phase, settings
from laws import test_epochs_are_atomic as atomic
from laws import test_incremental_equals_batch as incremental
from laws import test_order_is_irrelevant as order
from laws import test_overflow_has_no_value as overflow
from laws import test_retraction_leaves_nothing as retraction
from laws import test_rules_change as rules
from spark_backend import MARKS
from thorough import THOROUGH

from streamreasoner.backends.spark import relation, state

pytestmark = MARKS

EXAMPLES = settings(
    max_examples=40 if THOROUGH else 3,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # An example may take seconds, so failures are not shrunk.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
RECURSION_LIMIT = 24  # examples that exceed it are rejected after running
SIZES = (
    [(state.RECENT, relation.MAX_DRIVER_ROWS)] * 2
    + [(40, relation.MAX_DRIVER_ROWS)]
    + [(40, 3)] * THOROUGH
)
LAWS = (
    incremental.test_trace_equals_from_scratch_after_every_epoch,
    incremental.test_changes_sum_to_the_closure,
    incremental.test_statistics_equal_those_of_the_trace,
    order.test_splitting_and_order,
    retraction.test_retracting_everything_leaves_the_program_alone,
    retraction.test_an_update_and_its_negation_cancel,
    atomic.test_a_failed_epoch_leaves_no_trace,
    atomic.test_a_rehearsal_predicts_failure_and_changes_nothing,
    atomic.test_overflow_is_an_error_and_rolled_back,
    atomic.test_a_restored_reasoner_continues_identically,
    overflow.test_a_result_out_of_range_has_no_value,
    rules.test_trace_is_that_of_the_current_rules,
)


@pytest.fixture
def on_spark(spark_store, monkeypatch):
    """Make drivers keep their states in Spark."""
    sizes = itertools.cycle(SIZES)

    def new_store():
        recent, few = next(sizes)
        monkeypatch.setattr(state, "RECENT", recent)
        monkeypatch.setattr(relation, "MAX_DRIVER_ROWS", few)
        return spark_store()

    monkeypatch.setattr(Driver, "new_store", staticmethod(new_store))
    monkeypatch.setattr(Driver, "recursion_limit", RECURSION_LIMIT)


@pytest.mark.usefixtures("on_spark")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_holds(law):
    """A law of the reasoner holds with its state in Spark."""
    EXAMPLES(law)()
