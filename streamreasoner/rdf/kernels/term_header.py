"""Positions in the header of a dictionary, an int64 row that kernels take. Invariant: one for each.

The columns whose addresses it has are described in `term_texts` and `hash_table`.
"""

from __future__ import annotations

ARENA = 0
ENDS = 1
BASES = 2
TABLES = 3
INDEX = 4
TABLE = 5  # a number: the current table of symbols, 0 if there is none
SLOTS = 6
SLOT_COUNT = 7
COUNT = 8  # terms
COUNT_LIMIT = 9  # terms after which Python has something to do
BYTES = 10  # of the arena that are used
BYTES_LIMIT = 11
LENGTHS = 12  # bytes of all texts
FIRST_SECRET = 13
SECOND_SECRET = 14
HEADER_LENGTH = 15
