"""Symbols that the texts of terms are compressed with. Invariant: only memory has them."""
