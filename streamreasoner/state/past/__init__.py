"""The past of a state, read beside a running pipeline. Invariant: reading changes no file."""
