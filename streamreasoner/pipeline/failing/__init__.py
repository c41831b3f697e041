"""A batch that fails. Invariant: what causes it is left out, and nothing else."""
