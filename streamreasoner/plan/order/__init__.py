"""The order of joins and conditions in a delta plan."""
