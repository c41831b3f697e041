"""What the server answers, one module a path. Invariant: each asks one snapshot."""
