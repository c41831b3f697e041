"""How a query is read. Invariant: rdflib's parse tree goes no further than this room."""
