"""Shapes to rules. Invariant: no two shapes or constraints have a predicate in common."""
