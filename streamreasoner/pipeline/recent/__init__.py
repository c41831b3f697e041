"""What a pipeline remembers of its last epochs, for readers. Invariant: memory is bounded."""
