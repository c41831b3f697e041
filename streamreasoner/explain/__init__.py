"""Explanations: proofs of present facts, and the reasons why absent facts are not derived."""

from __future__ import annotations

from streamreasoner.explain.explanation import Explanation, explain, provenance
from streamreasoner.explain.fact import read_fact, read_goal
from streamreasoner.explain.proof import Limits
from streamreasoner.facts import Fact

__all__ = ["Explanation", "Fact", "Limits", "explain", "provenance", "read_fact", "read_goal"]
