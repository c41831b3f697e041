"""Functions and tests on canonical terms. Invariant: a result is canonical, or None."""

from __future__ import annotations

from streamreasoner.rdf.functions.call import apply, test

__all__ = ["apply", "test"]
