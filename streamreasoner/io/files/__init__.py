"""Files of facts: what a path names. Invariant: each document is read by its format alone."""
