"""Explanations as text, JSON and graphs. Invariant: rendering finds nothing out."""
