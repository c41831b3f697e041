"""Compiled parts of climbing. Invariant: they allocate nothing, and write what they fill in."""
