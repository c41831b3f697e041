"""The profile of a run of tests: `ci`, or `thorough` if there are hours."""

from __future__ import annotations

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
THOROUGH = PROFILE == "thorough"
"""Whether there is time for many examples and kills."""
