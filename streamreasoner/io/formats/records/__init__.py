"""Records of a schema, and the values that they have beside those of JSON."""
