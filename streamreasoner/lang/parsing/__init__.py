"""The parts of the parser: what it makes of a tree, and what it says of a text that has none."""
