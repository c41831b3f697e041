"""Compiled parts of questions. Invariant: they allocate nothing, and write what they fill in."""
