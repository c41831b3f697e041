"""A session whose epochs are stored in tables, as those of a pipeline are."""
