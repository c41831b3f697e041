"""Texts that sort as terms do, written byte by byte. Invariant: no library packs the bytes."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from fractions import Fraction

from oracle.terms import KINDS, NUMBER, XSD, kind, literal, string, triple, value

UNBOUND = "<urn:streamreasoner:unbound>"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIDNIGHT = re.compile(r'("\d{4}-\d\d-\d\d)([^T]*)date>')
FIRST_OF_LITERALS, OTHER, OF_STRINGS, TRIPLE = 2, 6, 3, 7


def sort_key(directions, *terms):
    """The keys of terms, each ascending or descending; None without a letter for each."""
    letters = literal(directions)
    if letters is None or not (letters[1] or letters[2] == XSD + "string"):
        return None
    if len(letters[0]) != len(terms) or set(letters[0]) - set("ad"):
        return None
    key = []
    for letter, term in zip(letters[0], terms, strict=True):
        content = [] if term == UNBOUND else [*key_of(term)]
        ended = [code for byte in content for code in ((byte, 255) if byte == 0 else (byte,))]
        key += [255 - byte if letter == "d" else byte for byte in (*ended, 0, 0)]
    return string("".join(f"{byte:02x}" for byte in key))


def key_of(term):
    """The bytes of one term: its kind, its value, its text."""
    if parts := triple(term):
        ended = b"".join(bytes(key_of(part)) + b"\0" for part in parts[:2])
        return bytes([TRIPLE]) + ended + bytes(key_of(parts[2]))
    text = term.encode()
    if not term.startswith('"'):
        return bytes([term[0] == "<"]) + term.strip("<>").encode()
    content = value(MIDNIGHT.sub(r"\1T00:00:00\2dateTime>", term))
    if content is None:
        return bytes([OTHER]) + text
    number = kind(content)
    first = bytes([FIRST_OF_LITERALS + number])
    if number == NUMBER:
        inexact = isinstance(content, float)
        exact = exact_bytes(Fraction(0 if inexact else content))
        return first + double_bytes(float(content)) + bytes([inexact]) + exact + text
    if number == OF_STRINGS:
        return first + literal(term)[0].encode()
    if isinstance(content, datetime):
        passed = content - EPOCH
        content = Fraction(passed.days * 86400 + passed.seconds) + Fraction(
            passed.microseconds, 10**6
        )
    return first + exact_bytes(Fraction(content)) + text


def exact_bytes(content):
    """The whole part, and the rest in units of 1e-18."""
    whole = math.floor(content)
    rest = int((content - whole) * 10**18)
    return (whole + 2**63).to_bytes(8, "big") + rest.to_bytes(8, "big")


def double_bytes(content):
    """A double as bytes that compare as it does."""
    if math.isnan(content):
        return b"\xff" * 8
    mantissa, exponent = math.frexp(abs(content))
    if content in (math.inf, -math.inf):
        bits = 0x7FF << 52
    elif content == 0:
        bits = 0
    elif exponent < -1021:
        bits = int(mantissa * 2.0 ** (exponent + 1074))
    else:
        bits = ((exponent + 1022) << 52) + int(mantissa * 2**53) - 2**52
    return (2**63 + bits if content >= 0 else 2**63 - 1 - bits).to_bytes(8, "big")


assert len(KINDS) == OF_STRINGS + 1
