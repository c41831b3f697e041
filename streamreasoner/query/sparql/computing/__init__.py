"""Expressions of queries. Invariant: a value is a canonical term, or None: an error."""
