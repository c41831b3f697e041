"""Commands that work on files alone."""
