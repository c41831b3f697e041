"""The total order of terms. Invariant: 0 only if the ids are equal.

Blank nodes come before IRIs, IRIs before literals, and literals before triple terms (SPARQL 1.2,
section 15.1); literals are ordered by kind: booleans, numbers, dates and times, strings, others.
Triple terms are ordered by subject, then predicate, then object, each as this order has it. IRIs
are ordered by their UTF-8 bytes, without the brackets. Within a kind literals are ordered by value;
ties, and terms without a value, by the UTF-8 bytes of their canonical text.

Numbers are ordered by their nearest double, NaN last; of those with the same double, exact numbers
come before xsd:double and xsd:float, and are ordered exactly. Negative zero equals zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import (
    float64_column,
    int8_column,
    int64_column,
    load_byte,
    load_word,
    signed,
)
from streamreasoner.native.compile import kernel
from streamreasoner.rdf.kernels.grammar import LESS, QUOTE
from streamreasoner.rdf.kernels.term_texts import kind_of, text, text_buffer
from streamreasoner.values.kernels import value_kinds
from streamreasoner.values.kernels.comparing import (
    DOUBLE,
    HEADER,
    KIND,
    WHOLE,
    compare_exact,
    compare_strings,
    first_difference,
)

if TYPE_CHECKING:
    import numpy as np

# Kinds of terms, in their order.
_BLANK_NODES = 0
_IRIS = 1
_BOOLEANS = 2
_NUMBERS = 3
_INSTANTS = 4
_STRINGS = 5
_OTHER = 6
_TRIPLES = 7

_WORD_BYTES = 8


@kernel
def order(values: np.ndarray, left: int, right: int) -> int:
    """Order of two terms by id.

    Args:
        values: `Values.table`, extended up to both ids.
        left: Id of a term.
        right: Id of a term.

    Returns:
        -1 or 1 as left comes before or after right; 0 if the ids are equal.
    """
    if left == right:
        return 0
    kinds = int8_column(values[KIND])
    wholes = int64_column(values[WHOLE])
    integers = (
        signed(kinds[left]) == value_kinds.INTEGER and signed(kinds[right]) == value_kinds.INTEGER
    )
    if integers and wholes[left] != wholes[right]:
        return -1 if wholes[left] < wholes[right] else 1
    if signed(kinds[left]) == value_kinds.TRIPLE and signed(kinds[right]) == value_kinds.TRIPLE:
        left, right = first_difference(values, left, right)
    rank = rank_of(values, left)
    other = rank_of(values, right)
    if rank != other:
        return -1 if rank < other else 1
    result = 0
    if rank == _NUMBERS:
        result = order_numbers(values, left, right)
    elif rank in (_BOOLEANS, _INSTANTS):
        result = compare_exact(values, left, right)
    elif rank == _STRINGS:
        result = compare_strings(values, left, right)
    if result != 0:
        return result
    # The bracket that ends an IRI would come before most characters.
    return compare_texts(values, left, right, 1 if rank == _IRIS else 0)


@kernel
def rank_of(values: np.ndarray, term: int) -> int:
    """Rank of the term's kind in the total order."""
    kind = signed(int8_column(values[KIND])[term])
    if kind in (value_kinds.EXACT, value_kinds.INTEGER, value_kinds.DOUBLE):
        rank = _NUMBERS
    elif kind == value_kinds.STRING:
        rank = _STRINGS
    elif kind == value_kinds.BOOLEAN:
        rank = _BOOLEANS
    elif kind == value_kinds.INSTANT:
        rank = _INSTANTS
    elif kind == value_kinds.TRIPLE:
        rank = _TRIPLES
    else:
        first = kind_of(int64_column(values[HEADER]), term)
        rank = _OTHER if first == QUOTE else _IRIS if first == LESS else _BLANK_NODES
    return rank


@kernel
def order_numbers(values: np.ndarray, left: int, right: int) -> int:
    """Order by (nearest double, exact before double, exact value)."""
    doubles = float64_column(values[DOUBLE])
    result = order_doubles(doubles[left], doubles[right])
    if result != 0:
        return result
    kinds = int8_column(values[KIND])
    left_inexact = signed(kinds[left]) == value_kinds.DOUBLE
    right_inexact = signed(kinds[right]) == value_kinds.DOUBLE
    if left_inexact != right_inexact:
        return 1 if left_inexact else -1
    return 0 if left_inexact else compare_exact(values, left, right)


@kernel
def order_doubles(left: float, right: float) -> int:
    """Order of two doubles, with NaN last and equal to itself."""
    if left < right:
        return -1
    if left > right:
        return 1
    return signed(left != left) - signed(right != right)  # noqa: PLR0124  (only NaN differs from itself)


@kernel
def compare_texts(values: np.ndarray, left: int, right: int, end: int) -> int:
    """Order by the bytes of the canonical texts, without the last `end` bytes of each."""
    header = int64_column(values[HEADER])
    first, first_end = text(header, left, text_buffer())
    second, second_end = text(header, right, text_buffer())
    first_length, second_length = first_end - first - end, second_end - second - end
    length = min(first_length, second_length)
    i = 0
    while i + _WORD_BYTES <= length and load_word(first + i) == load_word(second + i):
        i += _WORD_BYTES
    while i < length:
        byte = load_byte(first + i)
        other = load_byte(second + i)
        if byte != other:
            return -1 if byte < other else 1
        i += 1
    if first_length == second_length:
        return 0
    return -1 if first_length < second_length else 1
