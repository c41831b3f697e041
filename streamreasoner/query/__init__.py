"""Questions about the facts of one epoch. Invariant: a question changes nothing."""
