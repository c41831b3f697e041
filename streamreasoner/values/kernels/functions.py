"""The built-ins that kernels compute. Invariant: a result is that of `builtins`, or DELEGATED.

A built-in has a code: its place in NAMES.
"""

# ruff: noqa: C901, PLR0911  (one case per built-in)

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import int8_column, int64_column, signed
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.grammar import GREATER, LESS, PARENTHESIS, QUOTE, UNDERSCORE
from streamreasoner.rdf.kernels.term_texts import kind_of, last_of
from streamreasoner.values.kernels import texts, value_kinds
from streamreasoner.values.kernels.comparing import HEADER, KIND, WHOLE, compare
from streamreasoner.values.kernels.exact import ABSOLUTE, DELEGATED, NO_VALUE, calculate
from streamreasoner.values.kernels.integers import intern_integer, is_integer
from streamreasoner.values.kernels.interning import lock, unlock

if TYPE_CHECKING:
    import numpy as np

NAMES = (
    "copy", "+", "-", "*", "/", "%", "negate", "abs",
    "min", "max", "length", "substring", "concat", "lower", "upper", "to_string", "str",
    "starts_with", "ends_with", "contains",
    "same_term", "is_iri", "is_blank", "is_literal", "is_triple", "is_string",
    "is_number", "is_integer", "is_decimal", "is_boolean", "is_instant",
)  # fmt: skip
"""The built-ins: those of arithmetic have the codes of `exact`; tests are the last ones."""

(
    _LEAST, _GREATEST, _LENGTH, _SUBSTRING, _CONCAT, _LOWER, _UPPER, _TO_STRING, _STR,
    _STARTS_WITH, _ENDS_WITH, _CONTAINS,
    _SAME_TERM, _IS_IRI, _IS_BLANK, _IS_LITERAL, _IS_TRIPLE, _IS_STRING, _IS_NUMBER, _IS_INTEGER,
    _IS_DECIMAL, _IS_BOOLEAN, _IS_INSTANT,
) = range(ABSOLUTE + 1, len(NAMES))  # fmt: skip
_COUNT = len(NAMES)
_FAR = 1 << 62  # positions that are further from a text than it is long
_ALL_ARGUMENTS = 3


@kernel
def apply(values: np.ndarray, code: int, arguments: np.ndarray, number: int) -> int:
    """Compute a built-in.

    Args:
        values: `Values.table`, extended up to all arguments.
        code: Its code; DELEGATED is the answer to one that has none here.
        arguments: Ids of its arguments, int32.
        number: How many.

    Returns:
        The id of its value, 0 or 1 for a test, NO_VALUE, or DELEGATED if Python has to compute it.
    """
    if code >= _COUNT:
        return DELEGATED
    first = signed(arguments[0])
    if code == 0:
        return first
    if code <= ABSOLUTE:
        return calculate(values, code, first, signed(arguments[number - 1]))
    if code <= _GREATEST:
        return _extreme(values, code, arguments, number)
    if code >= _SAME_TERM:
        return _test(values, code, first, signed(arguments[number - 1]))
    if code == _LENGTH:
        length = texts.length(values, first)
        return NO_VALUE if length < 0 else intern_integer(values, length)
    if code <= _STR:
        lock(values)
        term = _text(values, code, arguments, number)
        unlock(values)
        return term
    second = signed(arguments[1])
    if code == _STARTS_WITH:
        return texts.starts_with(values, first, second)
    if code == _ENDS_WITH:
        return texts.ends_with(values, first, second)
    return texts.contains(values, first, second)


@kernel
def _extreme(values: np.ndarray, code: int, arguments: np.ndarray, number: int) -> int:
    """The least or greatest of comparable terms; of equal ones the first."""
    best = signed(arguments[0])
    for i in range(1, number):
        other = signed(arguments[i])
        order = compare(values, other, best)
        if order not in (-1, 0, 1):
            return NO_VALUE
        if order == (-1 if code == _LEAST else 1):
            best = other
    return best


@kernel
def _text(values: np.ndarray, code: int, arguments: np.ndarray, number: int) -> int:
    """A string of the texts of terms, which is written where the dictionary would add it."""
    first = signed(arguments[0])
    if code == _CONCAT:
        return texts.concat(values, arguments, number)
    if code == _SUBSTRING:
        return _substring(values, arguments, number)
    if code == _TO_STRING:
        return texts.lexical(values, first)
    if code == _STR:
        return texts.text_of(values, first)
    return texts.cased(values, first, code == _UPPER)


@kernel
def _substring(values: np.ndarray, arguments: np.ndarray, number: int) -> int:
    """The characters at positions start <= p < start + count, counted from 1."""
    wholes = int64_column(values[WHOLE])
    if not is_integer(values, arguments[1]) or not is_integer(values, arguments[number - 1]):
        return NO_VALUE
    start, count = wholes[arguments[1]], _FAR - 1
    if number == _ALL_ARGUMENTS:
        count = wholes[arguments[2]]
    if not (-_FAR < start < _FAR and -_FAR < count < _FAR):
        return DELEGATED
    end = start - 1 + count if number == _ALL_ARGUMENTS else _FAR
    return texts.substring(values, signed(arguments[0]), start - 1, end)


@inlined
def _test(values: np.ndarray, code: int, term: int, other: int) -> int:
    """Whether two terms are one, or of which kind one is."""
    if code == _SAME_TERM:
        return int(term == other)
    header = int64_column(values[HEADER])
    byte = kind_of(header, term)
    if code == _IS_IRI:
        return int(byte == LESS)
    if code == _IS_BLANK:
        return int(byte == UNDERSCORE)
    if code == _IS_LITERAL:
        return int(byte == QUOTE)
    if code == _IS_TRIPLE:
        return int(byte == PARENTHESIS)
    if code == _IS_STRING:
        # A literal that ends so has a datatype.
        return int(byte == QUOTE and last_of(header, term) != GREATER)
    kind = signed(int8_column(values[KIND])[term])
    if code == _IS_NUMBER:
        return int(kind in (value_kinds.EXACT, value_kinds.DOUBLE, value_kinds.INTEGER))
    if code == _IS_BOOLEAN:
        return int(kind == value_kinds.BOOLEAN)
    if code == _IS_INSTANT:
        return int(kind == value_kinds.INSTANT)
    # Integers and decimals of many digits have the value of a double.
    if kind == value_kinds.DOUBLE:
        return DELEGATED
    return int(kind == (value_kinds.INTEGER if code == _IS_INTEGER else value_kinds.EXACT))
