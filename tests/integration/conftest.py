"""Fixtures for tests of states in Spark."""

from __future__ import annotations

import pytest
from spark_backend import spark_session, stores


@pytest.fixture(scope="module")
def spark_store(joined_jvm, tmp_path_factory):
    """A factory of stores in one session."""
    del joined_jvm
    directory = tmp_path_factory.mktemp("spark")
    with spark_session(directory) as spark:
        yield stores(spark, directory)
