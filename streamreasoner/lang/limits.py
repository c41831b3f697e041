"""How large a program may be. Invariant: what is within these limits is planned in seconds.

The kernels have room for what is counted here; a backend never refuses a program that was checked.
"""

from __future__ import annotations

FILE_BYTES = 1_000_000
"""Of a rule file. Facts by the million belong in files of facts."""

NESTING = 100
"""Of expressions and groups in parentheses."""

ARGUMENTS = 250
"""Of an atom."""

ATOMS = 100
"""Of a body, negated ones too."""

CONDITIONS = 250
"""Of a body: comparisons, assignments and tests."""

VARIABLES = 250
"""Of a rule: variables that are read again, and operations and functions."""
