"""Kinds of values as kernels know them. Invariant: they are those of `valuation.ValueKind`."""

from __future__ import annotations

NONE, EXACT, DOUBLE, STRING, BOOLEAN, INSTANT, INTEGER, TRIPLE = range(8)
PENDING = -1
"""Of a literal or triple term whose value has not been read yet."""
