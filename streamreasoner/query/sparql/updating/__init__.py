"""Requests of SPARQL 1.1 Update. Invariant: a request is performed as a whole, or not at all."""
