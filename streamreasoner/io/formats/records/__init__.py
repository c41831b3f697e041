"""Records of a schema, and the values that they have besides those of JSON."""
