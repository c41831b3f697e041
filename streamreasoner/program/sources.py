"""Texts of programs by their names. Invariant: a name that ends in `.ttl` is one of shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.parser import read

if TYPE_CHECKING:
    from streamreasoner.lang.parser import ParsedText

SHAPES = ".ttl"
"""Suffix of files of shapes."""


def read_source(text: str, source: str) -> ParsedText:
    """Read a text of rules, or one of shapes as the rules that they stand for."""
    if not source.endswith(SHAPES):
        return read(text, source)
    # Most programs import no shapes, so they do not import how these are read.
    from streamreasoner.shapes.compile import compile_shapes  # noqa: PLC0415

    return compile_shapes(text, source)
