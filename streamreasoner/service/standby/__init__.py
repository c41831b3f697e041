"""A process that stands by for another one, and what follows its state."""
