"""Epochs and fixpoints over a backend; knows the algorithm, not where the state lives."""
