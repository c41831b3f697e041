"""What a part of a state does not own. Invariant: a whole state owns everything."""
