"""What one epoch reads and derives. Invariant: nothing is stored before its end."""
