"""Texts as Arrow columns. Invariant: pandas is not imported.

`pa.array` and `pa.scalar` import pandas where it is installed, to recognise what is of it: half a
second and 50 MiB, which a process that starts should not spend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.rdf.term_kind import (
    BLANK_NODE_START,
    IRI_START,
    LITERAL_START,
    TRIPLE_TERM_START,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def column(texts: Sequence[str]) -> pa.LargeStringArray:
    """A column of texts, of shape (n,).

    Raises:
        UnicodeEncodeError: A text is not valid Unicode.
    """
    joined = "".join(texts).encode()
    offsets = np.zeros(len(texts) + 1, np.int64)
    lengths = [len(text) for text in texts]
    if sum(lengths) != len(joined):
        lengths = [len(text.encode()) for text in texts]
    np.cumsum(lengths, out=offsets[1:])
    return pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(joined))


def scalar(text: str) -> pa.LargeStringScalar:
    """A single text, which compute functions take besides columns."""
    return column([text])[0]


def are_iris(terms: pa.Array) -> pa.BooleanArray:
    """Which terms of a column are IRIs."""
    return pc.and_not(pc.starts_with(terms, IRI_START), are_triple_terms(terms))


def are_blank_nodes(terms: pa.Array) -> pa.BooleanArray:
    """Which terms of a column are blank nodes."""
    return pc.starts_with(terms, BLANK_NODE_START)


def are_literals(terms: pa.Array) -> pa.BooleanArray:
    """Which terms of a column are literals."""
    return pc.starts_with(terms, LITERAL_START)


def are_triple_terms(terms: pa.Array) -> pa.BooleanArray:
    """Which terms of a column are triple terms."""
    return pc.starts_with(terms, TRIPLE_TERM_START)


def are_resources(terms: pa.Array) -> pa.BooleanArray:
    """Which terms of a column are IRIs or blank nodes, which alone can be subjects or graphs."""
    return pc.or_(are_iris(terms), are_blank_nodes(terms))
