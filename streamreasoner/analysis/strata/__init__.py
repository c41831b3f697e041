"""Strata: what depends on what. Invariant: a stratum reads itself and those before it."""
