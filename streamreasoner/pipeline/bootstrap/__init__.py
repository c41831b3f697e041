"""The first load of a state from files. Invariant: it ends as if it had never been interrupted."""
