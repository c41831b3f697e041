"""How named graphs count. Invariant: imports nothing, as `--help` shows these names."""

from __future__ import annotations

from enum import StrEnum


class GraphMode(StrEnum):
    """How the quads of named graphs count for rules about triples."""

    DEFAULT = "default"
    """They do not."""
    UNION = "union"
    """The triple of each quad counts as a triple."""
    EACH = "each"
    """Rules hold within each graph, and what holds in the default graph holds in all."""
