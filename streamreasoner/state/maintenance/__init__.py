"""Upkeep of the tables in the background: merged, pruned, and saved."""
