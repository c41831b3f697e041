"""The rule language: text to values and back, and what is said about a text that is wrong."""
