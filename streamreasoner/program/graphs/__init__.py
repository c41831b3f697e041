"""Rules that named graphs ask for. Invariant: they are rules in normal form, like those written."""
