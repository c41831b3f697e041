"""Explanations: the proof of a fact that is present, and what a fact that is absent lacks."""

from __future__ import annotations

from streamreasoner.explain.explanation import Explanation, explain
from streamreasoner.explain.fact import read_fact
from streamreasoner.explain.proof import Fact, Limits

__all__ = ["Explanation", "Fact", "Limits", "explain", "read_fact"]
