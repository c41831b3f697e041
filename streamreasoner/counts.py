"""Numbers before nouns, for people. Invariant: a noun is in the plural unless the number is 1."""

from __future__ import annotations


def counted(number: int, singular: str, plural: str = "") -> str:
    """`1 fact`, `2,000 facts`, `0 queries`; plurals that are not made with an s are given."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"
