"""Bodies that the engine does not have, as those it has. Invariant: spans are those of the text."""
