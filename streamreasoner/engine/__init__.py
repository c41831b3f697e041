"""Epochs and fixpoints over a backend; independent of where the state is stored."""
