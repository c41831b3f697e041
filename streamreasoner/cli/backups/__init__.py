"""Commands that copy a state, and go on from the copy."""
