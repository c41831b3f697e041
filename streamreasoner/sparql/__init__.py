"""Queries in SPARQL to rules. Invariant: what has no rule that is right is refused by name."""
