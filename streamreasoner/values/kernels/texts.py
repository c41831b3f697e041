"""Functions of strings. Invariant: a result is that of `values.functions.strings`, or DELEGATED.

They read and write canonical text, where some characters are escaped: each has one form, and none
is the beginning of another, so texts are equal, or begin alike, if their bytes do. A character is
sought only where one begins.
"""

# ruff: noqa: PLR2004  (byte widths are those of UTF-8 and N-Triples)

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import (
    copy_bytes,
    int8_column,
    int64_column,
    load_byte,
    signed,
)
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.native.search import equal_bytes
from streamreasoner.rdf.kernels.grammar import (
    BACKSLASH,
    DELETE,
    GREATER,
    LESS,
    QUOTE,
    kind_byte,
)
from streamreasoner.rdf.kernels.term_texts import text, text_buffer
from streamreasoner.values.kernels import value_kinds
from streamreasoner.values.kernels.comparing import HEADER
from streamreasoner.values.kernels.exact import DELEGATED, NO_VALUE
from streamreasoner.values.kernels.interning import intern, room

if TYPE_CHECKING:
    import numpy as np

_SOUGHT_LIMIT = 1 << 18  # bytes of a text times bytes of a part: Python's search is linear
_U = ord("u")
_LOWER_A, _UPPER_A, _LETTERS, _CASE = ord("a"), ord("A"), 26, 32


@inlined
def _text(values: np.ndarray, term: int, buffer: int) -> tuple[int, int]:
    """Address of the first byte of a term, and behind the last one, see `term_texts.text`."""
    return text(int64_column(values[HEADER]), term, buffer)


@kernel
def closing_quote(start: int, stop: int) -> int:
    """Address of the quote behind the lexical form of a literal; 0 for other terms."""
    if load_byte(start) != QUOTE:
        return 0
    position = stop - 1
    # Neither language tags nor datatypes contain a quote.
    while load_byte(position) != QUOTE:
        position -= 1
    return position


@inlined
def string_end(start: int, stop: int) -> int:
    """Address of the quote behind the characters of a string; 0 for other terms."""
    # Only literals with a datatype, IRIs and triple terms end so.
    if load_byte(stop - 1) == GREATER:
        return 0
    return closing_quote(start, stop)


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
def length(values: np.ndarray, term: int) -> int:
    """Number of characters; NO_VALUE if it is not a string."""
    start, stop = _text(values, term, text_buffer())
    end = string_end(start, stop)
    if end == 0:
        return NO_VALUE
    position, count = start + 1, 0
    while position < end:
        position += width(position)
        count += 1
    return count


@inlined
def _both(
    values: np.ndarray, whole: int, part: int, buffer: int, other: int
) -> tuple[int, int, int, int]:
    """The characters of two strings: where each begins and ends; the end is 0 for other terms."""
    start, stop = _text(values, whole, buffer)
    sought, end = _text(values, part, other)
    return start + 1, string_end(start, stop), sought + 1, string_end(sought, end)


@kernel
def starts_with(values: np.ndarray, whole: int, part: int) -> int:
    """Whether a text begins with a part, 0 or 1; NO_VALUE if one is not a string."""
    first, stop, sought, end = _both(values, whole, part, text_buffer(), text_buffer())
    if stop == 0 or end == 0:
        return NO_VALUE
    return int(end - sought <= stop - first and equal_bytes(first, sought, end - sought))


@kernel
def ends_with(values: np.ndarray, whole: int, part: int) -> int:
    """The same of its end."""
    position, stop, sought, end = _both(values, whole, part, text_buffer(), text_buffer())
    if stop == 0 or end == 0:
        return NO_VALUE
    first = stop - (end - sought)
    if first < position or not equal_bytes(first, sought, end - sought):
        return 0
    while position < first:
        position += width(position)
    return int(position == first)


@kernel
def contains(values: np.ndarray, whole: int, part: int) -> int:
    """The same of any place; DELEGATED if both are long."""
    position, stop, sought, end = _both(values, whole, part, text_buffer(), text_buffer())
    if stop == 0 or end == 0:
        return NO_VALUE
    size = end - sought
    if (stop - position) * size > _SOUGHT_LIMIT:
        return DELEGATED
    while position + size <= stop:
        if equal_bytes(position, sought, size):
            return 1
        position += width(position)
    return 0


@kernel
def substring(values: np.ndarray, term: int, begin: int, end: int) -> int:
    """The characters at places begin <= p < end, counted from 0, with the text's language.

    Returns:
        The id of the term, NO_VALUE if it is not a string, or DELEGATED.
    """
    start, behind = _text(values, term, text_buffer())
    stop = string_end(start, behind)
    if stop == 0:
        return NO_VALUE
    position, place = start + 1, 0
    while position < stop and place < begin:
        position += width(position)
        place += 1
    first = position
    while position < stop and place < end:
        position += width(position)
        place += 1
    return _quoted(values, first, position, stop, behind)


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
    start, behind = _text(values, signed(arguments[0]), text_buffer())
    first = string_end(start, behind)
    tag = behind - first
    buffer = text_buffer()
    for i in range(number):
        start, behind = _text(values, signed(arguments[i]), buffer)
        stop = string_end(start, behind)
        if stop == 0:
            return NO_VALUE
        size += stop - start - 1
        if tag != behind - stop or not equal_bytes(first, stop, tag):
            tag = 1
    address = room(values, size + tag)
    if address == 0:
        return DELEGATED
    int8_column(address)[0] = QUOTE
    position = address + 1
    for i in range(number):
        start, behind = _text(values, signed(arguments[i]), buffer)
        written = string_end(start, behind) - start - 1
        copy_bytes(position, start + 1, written)
        position += written
    copy_bytes(position, first, tag)
    return _intern(values, address, size + tag, tag)


@kernel
def cased(values: np.ndarray, term: int, upper: bool) -> int:  # noqa: FBT001 - numba has no keyword-only arguments
    """The text in upper or lower case; DELEGATED if it has letters beyond ASCII."""
    start, behind = _text(values, term, text_buffer())
    stop = string_end(start, behind)
    if stop == 0:
        return NO_VALUE
    size = behind - start
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
    return _intern(values, address, size, behind - stop)


@kernel
def lexical(values: np.ndarray, term: int) -> int:
    """The lexical form of a literal as a string; NO_VALUE for other terms."""
    start, behind = _text(values, term, text_buffer())
    stop = closing_quote(start, behind)
    if stop == 0:
        return NO_VALUE
    if stop == behind - 1:
        return term
    return _quoted(values, start + 1, stop, stop, stop + 1)


@kernel
def text_of(values: np.ndarray, term: int) -> int:
    """The IRI, or the lexical form of a literal, as a string; NO_VALUE for a blank node."""
    start, stop = _text(values, term, text_buffer())
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
