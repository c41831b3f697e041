"""How a text is read. Invariant: the parse tree goes no further than this room."""
