"""Schemas of a registry, and the records that messages of them hold."""
