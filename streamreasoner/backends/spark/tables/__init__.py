"""The Delta tables of the backend. Invariant: the trace can rebuild them."""
