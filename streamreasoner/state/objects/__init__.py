"""A state in an object store: a journal of what is in it, and the mirror of a directory."""
