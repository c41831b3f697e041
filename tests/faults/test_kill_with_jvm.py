"""SIGKILL of the driver at random, which ends its JVM: output stays exactly-once."""

from __future__ import annotations

import pytest
from crashes import kill_at_random
from graphs import RULES
from pipelines import new_case
from thorough import THOROUGH

KILLS = 50


@pytest.mark.skipif(not THOROUGH, reason="takes minutes; part of `make test-thorough`")
def test_killed_with_its_jvm(broker, tmp_path):
    """The driver's JVM ends with it, and the next driver starts another."""
    kill_at_random(new_case(broker, tmp_path, RULES), KILLS)
