"""Shapes in SHACL to rules. Invariant: what is not supported is refused by name, with its place."""
