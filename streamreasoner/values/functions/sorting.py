"""Texts that sort as terms do. Invariant: keys compare as the tuples of their terms compare.

A key is the order keys of its terms in hexadecimal, each with an end that is less than any further
byte. Bytes are complemented where the order is descending. What is unbound is first.
"""

from __future__ import annotations

from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.values.literal import canonical, string
from streamreasoner.values.order import order_key

_END = b"\0\0"
_ESCAPED = b"\0\xff"
_COMPLEMENT = bytes(range(255, -1, -1))


def sort_key(directions: str, *terms: str) -> str | None:
    """A text that sorts as terms do, each ascending, `a`, or descending, `d`.

    There is no value unless *directions* has one of these letters for each term.
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
