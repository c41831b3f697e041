"""Functions and tests on canonical terms. Invariant: what comes out is canonical, or no value."""

from __future__ import annotations

from streamreasoner.rdf.functions.call import apply, test

__all__ = ["apply", "test"]
