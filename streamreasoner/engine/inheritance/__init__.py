"""Facts that are inherited along a hierarchy: not stored, and read as if they were."""
