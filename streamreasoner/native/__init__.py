"""Compiled functions over raw memory. Invariant: names no package above it."""
