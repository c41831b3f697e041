"""Questions in SPARQL 1.1 about the facts of one epoch. Invariant: a question changes nothing."""
