"""Spark for a pipeline. Invariant: it ends with the start that began it."""
