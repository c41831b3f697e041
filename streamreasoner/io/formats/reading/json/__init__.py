"""Updates in JSON: a compiled reader of nearly all, and an exact one of the others."""
