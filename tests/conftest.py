"""What all tests share: one broker for the session, and Hypothesis profiles (`ci`, `thorough`)."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from streamreasoner.broker import Broker

pytest_plugins = ["kernels"]

# Kernels compile during an example, and the machines of CI are busy: no timing is an error.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", max_examples=150, **_COMMON)
settings.register_profile("thorough", max_examples=20_000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def broker():
    """An embedded Kafka broker, started once."""
    with Broker() as started:
        yield started


@pytest.fixture(scope="module")
def leftovers():
    """What PySpark leaves to the collector is collected while nobody minds."""
    yield
    gc.collect()
