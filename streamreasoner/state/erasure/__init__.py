"""Erasure from a stopped pipeline's state. Invariant: what is present is never touched."""
