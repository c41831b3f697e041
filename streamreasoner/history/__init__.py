"""A state's epochs, read alongside a running pipeline. Invariant: reading changes no file."""
