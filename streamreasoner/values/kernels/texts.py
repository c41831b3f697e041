"""Functions of strings. Invariant: a result is that of `values.functions.strings`, or DELEGATED.

They read and write canonical text, where some characters are escaped: each has one form, and none
is the beginning of another, so texts are equal, or begin alike, if their bytes do. A character is
sought only where one begins.
"""

# ruff: noqa: PLR2004  (byte widths are those of UTF-8 and N-Triples)

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import copy_bytes, int8_column, int64_column, load_byte
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.grammar import (
    BACKSLASH,
    DELETE,
    GREATER,
    LESS,
    QUOTE,
    kind_byte,
)
from streamreasoner.rdf.kernels.hash_table import equal_bytes
from streamreasoner.values.kernels import value_kinds
from streamreasoner.values.kernels.comparing import HEADER_ARENA, HEADER_STARTS
from streamreasoner.values.kernels.exact import DELEGATED, NO_VALUE
from streamreasoner.values.kernels.interning import intern, room

if TYPE_CHECKING:
    import numpy as np

_SOUGHT_LIMIT = 1 << 18  # bytes of a text times bytes of a part: Python's search is linear
_U = ord("u")
_LOWER_A, _UPPER_A, _LETTERS, _CASE = ord("a"), ord("A"), 26, 32


@inlined
def start_of(values: np.ndarray, term: int) -> int:
    """Address of the first byte of a term."""
    address: int = values[HEADER_ARENA] + int64_column(values[HEADER_STARTS])[term]
    return address


@inlined
def stop_of(values: np.ndarray, term: int) -> int:
    """Address behind the last byte of a term."""
    return start_of(values, term + 1)


@kernel
def closing_quote(values: np.ndarray, term: int) -> int:
    """Address of the quote behind the lexical form of a literal; 0 for other terms."""
    if load_byte(start_of(values, term)) != QUOTE:
        return 0
    position = stop_of(values, term) - 1
    # Neither language tags nor datatypes contain a quote.
    while load_byte(position) != QUOTE:
        position -= 1
    return position


@inlined
def string_end(values: np.ndarray, term: int) -> int:
    """Address of the quote behind the characters of a string; 0 for other terms."""
    # Only literals with a datatype, IRIs and triple terms end so.
    if load_byte(stop_of(values, term) - 1) == GREATER:
        return 0
    return closing_quote(values, term)


@kernel
def width(position: int) -> int:
    """Bytes of the character at a position."""
    byte = load_byte(position)
    if byte == BACKSLASH:
        return 6 if load_byte(position + 1) == _U else 2
    if byte < 0x80:
        return 1
    return 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4


@kernel
def length(values: np.ndarray, text: int) -> int:
    """Number of characters; NO_VALUE if it is not a string."""
    stop = string_end(values, text)
    if stop == 0:
        return NO_VALUE
    position, count = start_of(values, text) + 1, 0
    while position < stop:
        position += width(position)
        count += 1
    return count


@kernel
def starts_with(values: np.ndarray, text: int, part: int) -> int:
    """Whether a text begins with a part, 0 or 1; NO_VALUE if one is not a string."""
    stop = string_end(values, text)
    end = string_end(values, part)
    if stop == 0 or end == 0:
        return NO_VALUE
    first, sought = start_of(values, text) + 1, start_of(values, part) + 1
    return int(end - sought <= stop - first and equal_bytes(first, sought, end - sought))


@kernel
def ends_with(values: np.ndarray, text: int, part: int) -> int:
    """The same of its end."""
    stop = string_end(values, text)
    end = string_end(values, part)
    if stop == 0 or end == 0:
        return NO_VALUE
    position, sought = start_of(values, text) + 1, start_of(values, part) + 1
    first = stop - (end - sought)
    if first < position or not equal_bytes(first, sought, end - sought):
        return 0
    while position < first:
        position += width(position)
    return int(position == first)


@kernel
def contains(values: np.ndarray, text: int, part: int) -> int:
    """The same of any place; DELEGATED if both are long."""
    stop = string_end(values, text)
    end = string_end(values, part)
    if stop == 0 or end == 0:
        return NO_VALUE
    position, sought = start_of(values, text) + 1, start_of(values, part) + 1
    size = end - sought
    if (stop - position) * size > _SOUGHT_LIMIT:
        return DELEGATED
    while position + size <= stop:
        if equal_bytes(position, sought, size):
            return 1
        position += width(position)
    return 0


@kernel
def substring(values: np.ndarray, text: int, begin: int, end: int) -> int:
    """The characters at places begin <= p < end, counted from 0, with the text's language.

    Returns:
        The id of the term, NO_VALUE if it is not a string, or DELEGATED.
    """
    stop = string_end(values, text)
    if stop == 0:
        return NO_VALUE
    position, place = start_of(values, text) + 1, 0
    while position < stop and place < begin:
        position += width(position)
        place += 1
    first = position
    while position < stop and place < end:
        position += width(position)
        place += 1
    return _quoted(values, first, position, stop, stop_of(values, text))


@kernel
def concat(values: np.ndarray, arguments: np.ndarray, number: int) -> int:
    """The texts of terms one after the other, with their language if they share one.

    Args:
        values: `Values.table`.
        arguments: Their ids, at least one.
        number: How many.

    Returns:
        The id of the term, NO_VALUE if one is not a string, or DELEGATED.
    """
    size = 1
    first = string_end(values, arguments[0])
    tag = stop_of(values, arguments[0]) - first
    for i in range(number):
        stop = string_end(values, arguments[i])
        if stop == 0:
            return NO_VALUE
        size += stop - start_of(values, arguments[i]) - 1
        if tag != stop_of(values, arguments[i]) - stop or not equal_bytes(first, stop, tag):
            tag = 1
    address = room(values, size + tag)
    if address == 0:
        return DELEGATED
    int8_column(address)[0] = QUOTE
    position = address + 1
    for i in range(number):
        start = start_of(values, arguments[i]) + 1
        written = string_end(values, arguments[i]) - start
        copy_bytes(position, start, written)
        position += written
    copy_bytes(position, first, tag)
    return _intern(values, address, size + tag, tag)


@kernel
def cased(values: np.ndarray, text: int, upper: bool) -> int:  # noqa: FBT001 - numba has no keyword-only arguments
    """The text in upper or lower case; DELEGATED if it has letters beyond ASCII."""
    stop = string_end(values, text)
    if stop == 0:
        return NO_VALUE
    start, size = start_of(values, text), stop_of(values, text) - start_of(values, text)
    address = room(values, size)
    if address == 0:
        return DELEGATED
    copy_bytes(address, start, size)
    written = int8_column(address)
    first = _LOWER_A if upper else _UPPER_A
    position = start + 1
    while position < stop:
        byte = load_byte(position)
        if byte >= 0x80:
            return DELEGATED
        if first <= byte < first + _LETTERS:
            written[position - start] = byte ^ _CASE
        position += width(position)
    return _intern(values, address, size, stop_of(values, text) - stop)


@kernel
def lexical(values: np.ndarray, term: int) -> int:
    """The lexical form of a literal as a string; NO_VALUE for other terms."""
    stop = closing_quote(values, term)
    if stop == 0:
        return NO_VALUE
    if stop == stop_of(values, term) - 1:
        return term
    start = start_of(values, term) + 1
    return _quoted(values, start, stop, stop, stop + 1)


@kernel
def text_of(values: np.ndarray, term: int) -> int:
    """The IRI, or the lexical form of a literal, as a string; NO_VALUE for a blank node."""
    start, stop = start_of(values, term), stop_of(values, term)
    if kind_byte(start) != LESS:
        return lexical(values, term)
    size = stop - start
    address = room(values, size)
    if address == 0:
        return DELEGATED
    copy_bytes(address, start, size)
    for position in range(start, stop):
        if load_byte(position) >= DELETE:
            return DELEGATED
    written = int8_column(address)
    written[0] = QUOTE
    written[size - 1] = QUOTE
    return _intern(values, address, size, 1)


@kernel
def _quoted(values: np.ndarray, first: int, last: int, quote: int, stop: int) -> int:
    """The literal of a range of text, with the closing quote and language of another range."""
    size, tag = last - first, stop - quote
    address = room(values, 1 + size + tag)
    if address == 0:
        return DELEGATED
    int8_column(address)[0] = QUOTE
    copy_bytes(address + 1, first, size)
    copy_bytes(address + 1 + size, quote, tag)
    return _intern(values, address, 1 + size + tag, tag)


@inlined
def _intern(values: np.ndarray, address: int, size: int, tag: int) -> int:
    """Id of a written string; it has a language if more than a quote ends it."""
    return intern(
        values, address, size, value_kinds.STRING if tag == 1 else value_kinds.NONE, 0, 0, 0.0
    )
