"""Commands that run a pipeline or change its state."""
