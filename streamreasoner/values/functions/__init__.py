"""Functions of terms, by what they are about. Invariant: a function has no value, or a term."""
