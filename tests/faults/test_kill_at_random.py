"""SIGKILL of the driver at random while its JVM stays: output stays exactly-once."""

from __future__ import annotations

import pytest
from crashes import kill_at_random
from graphs import RULES
from pipelines import new_case
from thorough import THOROUGH

KILLS = 450 if THOROUGH else 2


@pytest.mark.usefixtures("joined_jvm")
def test_killed_alone(broker, tmp_path):
    """The JVM stays, which makes a restart cheap, so there are many."""
    kill_at_random(new_case(broker, tmp_path, RULES), KILLS)
