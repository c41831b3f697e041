"""What runs before the first batch. Invariant: nothing is compiled once a pipeline is ready."""
