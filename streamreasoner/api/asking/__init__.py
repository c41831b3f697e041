"""Queries and updates in SPARQL, in Python. Invariant: each is of one epoch."""
