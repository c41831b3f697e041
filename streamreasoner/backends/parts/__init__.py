"""A state divided among parts that own facts. Invariant: parts exchange ids, never terms."""
