"""A fast check for canonical terms. Invariant: it never accepts bytes that are not canonical.

A term that is not accepted goes to `terms.canonical`, the exact path: IP literals in brackets,
private-use characters, blank node labels beyond ASCII and numeric escapes are rare.
"""

# ruff: noqa: C901, PLR0911, PLR0912, PLR2004, SIM110  (byte widths and branches are those of the format; numba has no all() or set)

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import load_byte
from streamreasoner.native.compile import kernel

QUOTE = ord('"')
BACKSLASH = ord("\\")
HASH = ord("#")
PERCENT = ord("%")
DOT = ord(".")
COLON = ord(":")
SLASH = ord("/")
AT = ord("@")
CARET = ord("^")
LESS = ord("<")
GREATER = ord(">")
UNDERSCORE = ord("_")
HYPHEN = ord("-")
PARENTHESIS = ord("(")
QUESTION = ord("?")
_N, _R, _T, _B, _F = (ord(letter) for letter in "nrtbf")
DELETE = 0x7F
SUBTAG_LENGTH = 8

# Character classes, as bit flags; a byte may be in several.
ALPHA = 1
DIGIT = 2
HEX = 4
SCHEME = 8  # after the first letter of a scheme
HOST = 16  # in a host without percent-encoding or brackets
IRI = 32  # anywhere after the authority
LABEL = 64  # inside a blank node label
LOWER = 128


def _classes() -> np.ndarray:
    letters = "abcdefghijklmnopqrstuvwxyz"
    members = (
        (ALPHA, letters + letters.upper()),
        (DIGIT, "0123456789"),
        (HEX, "0123456789abcdefABCDEF"),
        (SCHEME, letters + letters.upper() + "0123456789+-."),
        (HOST, letters + letters.upper() + "0123456789-._~"),
        (IRI, letters + letters.upper() + "0123456789-._~:/?@!$&'()*+,;="),
        (LABEL, letters + letters.upper() + "0123456789_.-"),
        (LOWER, letters),
    )
    classes = np.zeros(256, dtype=np.uint8)
    for flag, characters in members:
        classes[[ord(character) for character in characters]] |= flag
    return classes


_CLASSES = _classes()
# Datatypes that canonical literals do not contain: omitted, or only valid with a language tag.
_HIDDEN_DATATYPES = tuple(
    np.frombuffer(f"<http://www.w3.org/{name}>".encode(), dtype=np.uint8)
    for name in (
        "2001/XMLSchema#string",
        "1999/02/22-rdf-syntax-ns#langString",
        "1999/02/22-rdf-syntax-ns#dirLangString",
    )
)
_XSD_STRING, _LANG_STRING, _DIR_LANG_STRING = _HIDDEN_DATATYPES


@kernel
def is_canonical(address: int, length: int) -> bool:
    """Whether the bytes are one term in canonical N-Triples; False if uncertain."""
    if length < 3:
        return length == 2 and load_byte(address) == QUOTE and load_byte(address + 1) == QUOTE
    first = load_byte(address)
    if first == LESS:
        return is_iri(address, address + length)
    if first == QUOTE:
        return is_literal(address, address + length)
    return is_blank_node(address, address + length)


@kernel
def kind_byte(address: int) -> int:
    """What tells the kind of the term there: its first byte, or `(` for a triple term."""
    first = load_byte(address)
    return PARENTHESIS if first == LESS and load_byte(address + 1) == LESS else first


@kernel
def is_blank_node(start: int, end: int) -> bool:
    """Whether the bytes are `_:label` in ASCII."""
    if load_byte(start) != UNDERSCORE or load_byte(start + 1) != COLON:
        return False
    first = load_byte(start + 2)
    if first in (DOT, HYPHEN) or load_byte(end - 1) == DOT:
        return False
    for position in range(start + 2, end):
        if not _CLASSES[load_byte(position)] & LABEL:
            return False
    return True


@kernel
def is_iri(start: int, end: int) -> bool:
    """Whether the bytes are `<scheme:...>` (RFC 3987), any authority a plain host and port."""
    if load_byte(end - 1) != GREATER or load_byte(start) != LESS:
        return False
    end -= 1
    position = start + 1
    if not _CLASSES[load_byte(position)] & ALPHA:
        return False
    while _CLASSES[load_byte(position)] & SCHEME:
        position += 1
    if load_byte(position) != COLON:
        return False
    position += 1
    if load_byte(position) == SLASH and load_byte(position + 1) == SLASH:
        position += 2
        while _CLASSES[load_byte(position)] & HOST:
            position += 1
        if load_byte(position) == COLON:
            position += 1
            while _CLASSES[load_byte(position)] & DIGIT:
                position += 1
        if position < end and load_byte(position) not in (SLASH, HASH, QUESTION):
            return False
    in_fragment = False
    while position < end:
        byte = load_byte(position)
        if _CLASSES[byte] & IRI:
            position += 1
        elif byte >= 0x80:
            width = iri_character(position, end)
            if width == 0:
                return False
            position += width
        elif byte == PERCENT:
            if end - position < 3:
                return False
            if not (_CLASSES[load_byte(position + 1)] & _CLASSES[load_byte(position + 2)] & HEX):
                return False
            position += 3
        elif byte == HASH and not in_fragment:
            in_fragment = True
            position += 1
        else:
            return False
    return position == end


@kernel
def is_literal(start: int, end: int) -> bool:
    """Whether the bytes are a canonical string, with or without `@language` or `^^<datatype>`."""
    position = start + 1
    while True:
        if position >= end:
            return False
        byte = load_byte(position)
        if byte == QUOTE:
            break
        if byte >= 0x80:
            width = character_width(position, end)
            if width == 0:
                return False
            position += width
        elif byte == BACKSLASH:
            if end - position < 2 or not is_short_escape(load_byte(position + 1)):
                return False
            position += 2
        elif byte < 0x20 or byte == DELETE:
            return False
        else:
            position += 1
    position += 1
    if position == end:
        return True
    if load_byte(position) == AT:
        return is_language(position + 1, end)
    if end - position < 5 or load_byte(position) != CARET or load_byte(position + 1) != CARET:
        return False
    return is_iri(position + 2, end) and not is_hidden_datatype(position + 2, end)


@kernel
def is_short_escape(byte: int) -> bool:
    """Whether a backslash and this byte are a canonical escape."""
    return byte in (QUOTE, BACKSLASH, _N, _R, _T, _B, _F)


@kernel
def is_tag_byte(byte: int) -> bool:
    """Whether a byte may occur in a language tag, in either case."""
    return byte == HYPHEN or _CLASSES[byte] & (ALPHA | DIGIT) != 0


@kernel
def is_language(position: int, end: int) -> bool:
    """Whether the bytes are a lower-case language tag: letters, then digits too, 1 to 8 each."""
    allowed = LOWER
    width = 0
    while position < end:
        byte = load_byte(position)
        if byte == HYPHEN and width > 0:
            allowed = LOWER | DIGIT
            width = 0
        elif _CLASSES[byte] & allowed and width < SUBTAG_LENGTH:
            width += 1
        else:
            return False
        position += 1
    return width > 0


@kernel
def is_hidden_datatype(start: int, end: int) -> bool:
    """Whether the IRI is a datatype that canonical literals do not contain."""
    return (
        is_text(start, end, _XSD_STRING)
        or is_text(start, end, _LANG_STRING)
        or is_text(start, end, _DIR_LANG_STRING)
    )


@kernel
def is_text(start: int, end: int, text: np.ndarray) -> bool:
    """Whether the bytes from start to end are those of the array."""
    if end - start != len(text):
        return False
    # From the end: vocabularies share long prefixes.
    for index in range(len(text) - 1, -1, -1):
        if load_byte(start + index) != text[index]:
            return False
    return True


@kernel
def character_width(position: int, end: int) -> int:
    """Width of a non-ASCII character; 0 if it is not UTF-8, or if canonical text escapes it."""
    code, width = decode_character(position, end)
    return 0 if code in (0xFFFE, 0xFFFF) else width


@kernel
def iri_character(position: int, end: int) -> int:
    """Width of a character in the common part of `ucschar` (RFC 3987); 0 for any other."""
    code, width = decode_character(position, end)
    if (
        0xA0 <= code <= 0xD7FF
        or 0xF900 <= code <= 0xFDCF
        or 0xFDF0 <= code <= 0xFFEF
        or 0x10000 <= code <= 0x1FFFD
    ):
        return width
    return 0


@kernel
def decode_character(position: int, end: int) -> tuple[int, int]:
    """Code point and width of a multi-byte UTF-8 character; (0, 0) if the bytes are not one."""
    lead = load_byte(position)
    if 0xC2 <= lead <= 0xDF:
        width = 2
        code = lead & 0x1F
    elif lead & 0xF0 == 0xE0:
        width = 3
        code = lead & 0x0F
    elif 0xF0 <= lead <= 0xF4:
        width = 4
        code = lead & 0x07
    else:
        return 0, 0
    if end - position < width:
        return 0, 0
    for offset in range(1, width):
        byte = load_byte(position + offset)
        if byte & 0xC0 != 0x80:
            return 0, 0
        code = code << 6 | byte & 0x3F
    if width == 3 and (code < 0x800 or 0xD800 <= code <= 0xDFFF):
        return 0, 0
    if width == 4 and not 0x10000 <= code <= 0x10FFFF:
        return 0, 0
    return code, width
