"""One format a file: bytes to updates, and back. Invariant: every mistake has a place."""
