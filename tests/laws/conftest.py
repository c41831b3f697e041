"""Hypothesis profiles for the laws: `ci` by default, more with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", max_examples=150, **_COMMON)
settings.register_profile("thorough", max_examples=20_000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
