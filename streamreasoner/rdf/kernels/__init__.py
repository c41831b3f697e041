"""Compiled kernels over UTF-8 bytes. Invariant: kernels create no Python objects."""
