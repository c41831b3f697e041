"""Commands that prepare a pipeline, check it, and take it back to its beginning."""
