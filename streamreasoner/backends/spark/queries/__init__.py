"""Queries that Spark and DuckDB run alike. Invariant: rows are bags."""
