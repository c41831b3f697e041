"""Shared by tests: one broker, a Spark JVM for each worker, and Hypothesis profiles.

HYPOTHESIS_PROFILE is `ci` or `thorough`.
"""

from __future__ import annotations

import gc
import logging

import pytest
from hypothesis import HealthCheck, settings
from one_broker import one_broker
from spark_jvm import WITH_DELTA, joined, spark_jvm, spark_session
from thorough import PROFILE

from streamreasoner.cli.logs import configure_logging

pytest_plugins = ["kernels", "order"]

# Kernels compile during an example and CI machines are busy, so examples have no time limit.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", max_examples=30, **_COMMON)
settings.register_profile("thorough", max_examples=2_000, **_COMMON)
settings.load_profile(PROFILE)


def pytest_collection():
    """Import the tests without collections, which would find nothing."""
    gc.disable()


def pytest_collection_finish():
    """Collect from now on."""
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def loaded_objects_are_kept():
    """Exempt what a worker holds from collections: 700,000 objects that stay, most of them tests.

    Tests that collect the states of earlier examples otherwise traverse them hundreds of times.
    """
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Collect everything at exit, or nanobind complains about what is left."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def own_log():
    """A function that configures the log, as some commands do; its changes are undone afterwards.

    The handler of a command that runs in a test writes to a stream that is closed later, so this is
    so for all tests.
    """
    loggers = [logging.getLogger(name) for name in ("streamreasoner", "streamreasoner.kafka")]
    before = [(log, log.handlers[:], log.level, log.propagate) for log in loggers]
    yield configure_logging
    for log, handlers, level, propagate in before:
        log.handlers[:], log.propagate = handlers, propagate
        log.setLevel(level)


@pytest.fixture(scope="session")
def broker(tmp_path_factory, worker_id):
    """The address of an embedded Kafka broker, started once for all workers."""
    own = tmp_path_factory.getbasetemp()
    with one_broker(own if worker_id == "master" else own.parent) as running:
        yield running


@pytest.fixture(scope="session")
def spark_environment(tmp_path_factory):
    """A Spark JVM, started once: the environment variables of processes that join it."""
    with spark_jvm(tmp_path_factory.mktemp("jvm")) as environment:
        yield environment


@pytest.fixture(scope="module")
def joined_jvm(spark_environment):
    """Run the sessions of a module, and of processes it starts, in the worker's JVM."""
    with joined(spark_environment):
        yield


@pytest.fixture(scope="module")
def spark(joined_jvm, tmp_path_factory):
    """A session with Delta Lake in the worker's JVM."""
    del joined_jvm
    with spark_session(tmp_path_factory.mktemp("spark"), WITH_DELTA) as session:
        yield session


@pytest.fixture(scope="module")
def leftovers():
    """Collect what PySpark leaves to the garbage collector while its warnings are ignored."""
    yield
    gc.collect()
