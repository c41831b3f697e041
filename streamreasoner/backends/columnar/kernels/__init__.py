"""The compiled part of the state. Invariant: kernels create no Python objects."""
