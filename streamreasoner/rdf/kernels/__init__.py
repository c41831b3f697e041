"""Compiled kernels over UTF-8 bytes. Invariant: no Python object per term is ever made here."""
