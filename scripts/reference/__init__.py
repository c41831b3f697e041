"""Parts of the reference that are written from code. Invariant: same code, same bytes."""
