"""RDF terms, their dictionary and the files they come from; knows nothing of rules or engines."""
