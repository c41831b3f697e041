"""Kinds of values as kernels know them. Invariant: they are those of `valuation.ValueKind`."""

from __future__ import annotations

NONE, EXACT, DOUBLE, STRING, BOOLEAN, INSTANT, INTEGER = range(7)
PENDING = -1
"""Of a literal whose value has not been read yet."""
