"""Compare two terms by value. Invariant: antisymmetric, and 0 whenever the ids are equal.

The state is a set of reserved columns, addressed through one int64 table:

- `kind`, int8: a `valuation.ValueKind`;
- `whole` and `fraction`, int64, and `double`, float64: the fields of `valuation.Value`;
- `header`: the header of the dictionary, which holds the text of strings;
- `text` and `small`: buffer and cache of `integers`; `decimal_text`: buffer of `decimals`.
"""

# ruff: noqa: PLR0911  (one return per case)

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import (
    float64_column,
    int8_column,
    int64_column,
    load_byte,
    signed,
)
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.grammar import BACKSLASH, GREATER, PARENTHESIS, QUOTE
from streamreasoner.rdf.kernels.term_texts import kind_of, last_of, text, text_buffer
from streamreasoner.values.kernels import value_kinds

if TYPE_CHECKING:
    import numpy as np

# Positions in the table.
KIND = 0
WHOLE = 1
FRACTION = 2
DOUBLE = 3
HEADER = 4  # the header itself
LENGTH = 5  # a number: rows that are filled
TEXT = 6  # bytes: buffer for the text of an integer
SMALL = 7  # int64: id + 1 of each small integer, 0 if not interned
DECIMAL_TEXT = 8  # bytes: buffer for the text of a decimal
LOCK = 9  # its address, an int64: 1 while a thread adds a term, else 0
TABLE_LENGTH = 10

SMALL_LIMIT = 1 << 20

INCOMPARABLE = 2

# Of a triple term, `whole` has the ids of subject and predicate, and `fraction` that of the object.
NODE_BITS = 32
NODE_MASK = (1 << NODE_BITS) - 1

_N, _R, _T, _B, _F, _U = (ord(letter) for letter in "nrtbfu")
_UPPER_E, _UPPER_F = ord("E"), ord("F")
_BEFORE_A = ord("A") - 10
_ZERO, _NINE = ord("0"), ord("9")


@kernel
def compare(values: np.ndarray, left: int, right: int) -> int:
    """Order of two terms by id.

    Args:
        values: `Values.table`, extended up to both ids.
        left: Id of a term.
        right: Id of a term.

    Returns:
        -1, 0 or 1 as left is less than, equal to or greater than right; 2 if not comparable.
    """
    if left == right:
        return 0
    kinds = int8_column(values[KIND])
    if signed(kinds[left]) == value_kinds.TRIPLE and signed(kinds[right]) == value_kinds.TRIPLE:
        # Only the last components can be different terms that are equal, and triples have no order.
        left, right = first_difference(values, left, right)
        return 0 if compare_simple(values, left, right) == 0 else INCOMPARABLE
    return compare_simple(values, left, right)


@kernel
def first_difference(values: np.ndarray, left: int, right: int) -> tuple[int, int]:
    """The first components, from left to right, in which two different triple terms differ.

    They are not both triple terms, but those that these have as objects are taken apart too.
    """
    kinds = int8_column(values[KIND])
    nodes = int64_column(values[WHOLE])
    objects = int64_column(values[FRACTION])
    while signed(kinds[left]) == value_kinds.TRIPLE and signed(kinds[right]) == value_kinds.TRIPLE:
        if nodes[left] >> NODE_BITS != nodes[right] >> NODE_BITS:
            return nodes[left] >> NODE_BITS, nodes[right] >> NODE_BITS
        if nodes[left] != nodes[right]:
            return nodes[left] & NODE_MASK, nodes[right] & NODE_MASK
        left, right = objects[left], objects[right]
    return left, right


@kernel
def compare_simple(values: np.ndarray, left: int, right: int) -> int:
    """Order of two different terms that are not both triple terms; see `compare`."""
    kind = comparable(values, left)
    other = comparable(values, right)
    if kind == value_kinds.STRING and other == value_kinds.STRING:
        return compare_strings(values, left, right)
    if kind == other and kind not in (value_kinds.NONE, value_kinds.DOUBLE):
        return compare_exact(values, left, right)
    if kind in (value_kinds.EXACT, value_kinds.DOUBLE) and other in (
        value_kinds.EXACT,
        value_kinds.DOUBLE,
    ):
        doubles = float64_column(values[DOUBLE])
        if doubles[left] < doubles[right]:
            return -1
        if doubles[left] > doubles[right]:
            return 1
        return 0 if doubles[left] == doubles[right] else INCOMPARABLE
    return INCOMPARABLE


@inlined
def comparable(values: np.ndarray, term: int) -> int:
    """Kind of a term, where integers count as exact numbers."""
    kind = signed(int8_column(values[KIND])[term])
    return value_kinds.EXACT if kind == value_kinds.INTEGER else kind


@kernel
def compare_exact(values: np.ndarray, left: int, right: int) -> int:
    """Order by (whole, fraction)."""
    wholes = int64_column(values[WHOLE])
    fractions = int64_column(values[FRACTION])
    if wholes[left] != wholes[right]:
        return -1 if wholes[left] < wholes[right] else 1
    if fractions[left] != fractions[right]:
        return -1 if fractions[left] < fractions[right] else 1
    return 0


@kernel
def compare_strings(values: np.ndarray, left: int, right: int) -> int:
    """Order of two plain literals by code point, with escapes decoded."""
    header = int64_column(values[HEADER])
    first, first_end = text(header, left, text_buffer())
    second, second_end = text(header, right, text_buffer())
    first, first_end = first + 1, first_end - 1
    second, second_end = second + 1, second_end - 1
    while first < first_end and second < second_end:
        first_key, first_width = read_code_unit(first)
        second_key, second_width = read_code_unit(second)
        if first_key != second_key:
            return -1 if first_key < second_key else 1
        first += first_width
        second += second_width
    if first < first_end:
        return 1
    return -1 if second < second_end else 0


@kernel
def read_code_unit(position: int) -> tuple[int, int]:
    r"""Sort key and width of the byte or escape at a position.

    The key is four times the byte; U+FFFE and U+FFFF, which canonical text escapes, sort between
    the characters that start with byte 0xEF and those that start with 0xF0.
    """
    byte = load_byte(position)
    if byte != BACKSLASH:
        return 4 * byte, 1
    escape = load_byte(position + 1)
    if escape == _U:
        if load_byte(position + 2) == _UPPER_F:
            return 4 * 0xEF + (1 if load_byte(position + 5) == _UPPER_E else 2), 6
        return 4 * (16 * hex_digit(position + 4) + hex_digit(position + 5)), 6
    if escape == _N:
        return 4 * 0x0A, 2
    if escape == _R:
        return 4 * 0x0D, 2
    if escape == _T:
        return 4 * 0x09, 2
    if escape == _B:
        return 4 * 0x08, 2
    if escape == _F:
        return 4 * 0x0C, 2
    return 4 * escape, 2


@kernel
def hex_digit(position: int) -> int:
    """Value of the upper-case hexadecimal digit at a position."""
    byte = load_byte(position)
    return byte - _ZERO if byte <= _NINE else byte - _BEFORE_A


@kernel
def classify(header: np.ndarray, kinds: np.ndarray, start: int, stop: int) -> int:
    """Fill `kinds` from the first and last bytes of each term; mark and count the others.

    Returns:
        Number of terms of kind -1: triple terms, and literals with a datatype, which must be
        evaluated one by one.
    """
    pending = 0
    for term in range(start, stop):
        kind = value_kinds.NONE
        first = kind_of(header, term)
        if first == PARENTHESIS:
            kind = value_kinds.PENDING
            pending += 1
        elif first == QUOTE:
            last = last_of(header, term)
            if last == QUOTE:
                kind = value_kinds.STRING
            elif last == GREATER:
                kind = value_kinds.PENDING
                pending += 1
        kinds[term] = kind
    return pending
