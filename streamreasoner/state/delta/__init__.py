"""Tables in the format of Delta Lake. Invariant: what is read is what was written and sealed."""
