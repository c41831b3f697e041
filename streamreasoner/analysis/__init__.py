"""The checks of a program, one a file, and what they share. Invariant: a check only reports."""
