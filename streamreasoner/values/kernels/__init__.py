"""Compiled comparison and order of terms. Invariant: agrees with the functions in Python."""
