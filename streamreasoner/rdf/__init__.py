"""RDF terms, their dictionary and readers for RDF files; independent of rules and engines."""
