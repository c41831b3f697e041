"""A graph of shapes to values. Invariant: what is not understood is reported, with its place."""
