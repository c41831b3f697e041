"""A rule program as the tables that kernels read. Invariant: no kernel runs here."""
