"""Limits on the size of programs. Invariant: a program within the limits is planned in seconds.

The kernels have room for everything within them; a backend never refuses a checked program.
"""

from __future__ import annotations

FILE_BYTES = 1_000_000
"""Of a rule file. Large sets of facts belong in data files."""

NESTING = 100
"""Of expressions and groups in parentheses."""

ARGUMENTS = 250
"""Of an atom."""

ATOMS = 100
"""Of a body, including negated ones."""

CONDITIONS = 250
"""Of a body: comparisons, assignments and tests."""

VARIABLES = 250
"""Of a rule: variables that occur more than once, operations and functions."""
