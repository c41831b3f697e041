"""The total order of terms, without a dictionary. Invariant: keys have the order of ids.

Kinds and tie-breaks are those of `rdf.kernels.ordering`. A key is bytes, so that Spark and DuckDB
compare keys as Python does: kind, value, text.
"""

from __future__ import annotations

import math
import struct

from streamreasoner.rdf.term_kind import is_blank_node, is_iri, is_triple_term
from streamreasoner.rdf.triple_terms import components
from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.values.literal import canonical, literal, string
from streamreasoner.values.numbers import NUMERIC
from streamreasoner.values.valuation import ValueKind

_BLANK_NODE, _IRI, _BOOLEAN, _NUMBER, _INSTANT, _STRING, _OTHER, _TRIPLE = (
    bytes([i]) for i in range(8)
)
_NODE_END = b"\0"
_SIGN = 1 << 63
_ALL = (1 << 64) - 1


def order_key(term: str) -> bytes:
    """Bytes that compare as the canonical term does."""
    key = b""
    while is_triple_term(term):
        *nodes, term = components(term)
        # No node has a zero byte, and an object is last, so that its key needs no end.
        key += _TRIPLE + b"".join(order_key(node) + _NODE_END for node in nodes)
    return key + _simple_key(term)


def _simple_key(term: str) -> bytes:
    text = term.encode()
    if is_blank_node(term):
        return _BLANK_NODE + text
    if is_iri(term):
        return _IRI + text[1:-1]
    parsed = literal(term)
    if parsed is None or parsed.value.kind is ValueKind.NONE:
        return _OTHER + text
    value = parsed.value
    exact = struct.pack(">QQ", value.whole + _SIGN, value.fraction)
    if parsed.datatype in NUMERIC:
        rounded = bytes([value.kind is ValueKind.DOUBLE])
        return _NUMBER + _double(value.double) + rounded + exact + text
    if value.kind is ValueKind.STRING:
        return _STRING + parsed.lexical.encode()
    return (_BOOLEAN if value.kind is ValueKind.BOOLEAN else _INSTANT) + exact + text


def _double(number: float) -> bytes:
    """Bytes that compare as the double does; NaN is last, and -0 equals 0."""
    if math.isnan(number):
        return b"\xff" * 8
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    return struct.pack(">Q", bits ^ _ALL if bits & _SIGN else bits | _SIGN)


_END = b"\0\0"
_ESCAPED = b"\0\xff"
_COMPLEMENT = bytes(range(255, -1, -1))


def sort_key(directions: str, *terms: str) -> str | None:
    """A text that sorts as terms do, each ascending, `a`, or descending, `d`.

    It is the order keys of the terms in hexadecimal, each with an end that is less than any further
    byte; bytes are complemented where the order is descending, and what is unbound is first. It
    has no value unless *directions* has one of these letters for each term.
    """
    parsed = string(directions)
    if parsed is None or len(parsed.lexical) != len(terms) or set(parsed.lexical) - {"a", "d"}:
        return None
    parts = zip(parsed.lexical, terms, strict=True)
    return canonical(b"".join(_key(term, letter) for letter, term in parts).hex())


def _key(term: str, direction: str) -> bytes:
    key = b"" if term == UNBOUND else order_key(term)
    whole = key.replace(b"\0", _ESCAPED) + _END
    return whole.translate(_COMPLEMENT) if direction == "d" else whole
