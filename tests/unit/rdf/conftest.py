"""Hypothesis settings for compiled code: the first example of a kernel pays for compiling it."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("compiled", deadline=None)
settings.load_profile("compiled")
