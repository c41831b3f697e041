"""Slots of event time with their state in Spark publish the same, over restarts and crashes."""

from __future__ import annotations

import itertools
import tempfile

from hypothesis import HealthCheck, Phase, given, settings
from laws.test_slots import GRANULARITIES, check, streams
from spark_backend import BUCKETS, MARKS
from thorough import THOROUGH

from streamreasoner.backends.spark.backend import SparkBackend
from streamreasoner.backends.spark.tables import committed
from streamreasoner.backends.spark.tables.distributed_dictionary import DistributedDictionary
from streamreasoner.engine.session import Store
from streamreasoner.state import TERMS, TRACE

pytestmark = MARKS

ROWS_IN_DRIVER = itertools.cycle((0, committed.RECENT))


def resumed(spark, place):
    """A factory of stores at one place, as a start in Spark makes them."""

    def make(tables, before):
        dictionary = DistributedDictionary(spark, f"{place}/terms")
        dictionary.resume(tables.directory / TERMS)

        def backend(plan):
            made = SparkBackend(spark, place, plan, dictionary, BUCKETS)
            made.resume(tables.directory / TRACE, before)
            return made

        return Store(dictionary, backend)

    return make


@settings(
    max_examples=20 if THOROUGH else 1,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(streams(GRANULARITIES, 8) if THOROUGH else streams(GRANULARITIES[1:2], 2))
def test_output_in_spark_is_that_in_memory(spark, arguments):
    """Also if each epoch is written to the table, which a process that died may be ahead with."""
    before = committed.RECENT
    committed.RECENT = next(ROWS_IN_DRIVER)
    try:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            check(one, other, arguments, resumed(spark, f"file:{other}/spark"))
    finally:
        committed.RECENT = before
