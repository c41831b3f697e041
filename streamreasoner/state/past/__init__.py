"""The past of a state, read alongside a running pipeline. Invariant: reading changes no file."""
