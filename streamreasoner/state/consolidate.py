"""Consolidate rows of a trace. Invariant: the sum of multiplicities of every key is preserved.

The columns of a key are packed into one machine word where their values fit, because sorting words
is several times faster than sorting rows. If the multiplicity fits the word too, the sorted words
are the sorted rows, and nothing is gathered from memory in random order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Columns = list[NDArray[np.signedinteger]]

WORD_BITS: Final = 64


def consolidate(
    columns: Sequence[NDArray[np.signedinteger]], multiplicity: NDArray[np.int64]
) -> tuple[Columns, NDArray[np.int64]]:
    """Sum the multiplicities of equal rows and drop the rows that sum to zero.

    Args:
        columns: Keys of the rows, each of shape (n,), values >= 0.
        multiplicity: int64 of shape (n,).

    Returns:
        The distinct keys in ascending order, and their sums, none of them zero.
    """
    if not len(multiplicity):
        return [*columns], multiplicity
    widths = [int(column.max()).bit_length() for column in columns]
    if sum(widths) > WORD_BITS:
        return _sum_rows(columns, multiplicity)
    words = _pack(columns, widths)
    words, sums = _sum_words(*_sort_words(words, sum(widths), multiplicity))
    return _unpack(words, widths, columns), sums


def _sort_words(
    words: NDArray[np.uint64], width: int, multiplicity: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    least = int(multiplicity.min())
    span = (int(multiplicity.max()) - least).bit_length()
    if width + span > WORD_BITS:
        order = np.argsort(words)
        return words[order], multiplicity[order]
    shift = np.uint64(span)
    rows = (words << shift) | (multiplicity - least).astype(np.uint64)
    rows.sort()
    below = np.uint64((1 << span) - 1)
    return rows >> shift, (rows & below).astype(np.int64) + least


def _sum_words(
    words: NDArray[np.uint64], multiplicity: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    starts = np.flatnonzero(np.concatenate(([True], words[1:] != words[:-1])))
    sums = np.add.reduceat(multiplicity, starts)
    nonzero = sums != 0
    return words[starts[nonzero]], sums[nonzero]


def _pack(columns: Sequence[NDArray[np.signedinteger]], widths: list[int]) -> NDArray[np.uint64]:
    words = np.zeros(len(columns[0]), np.uint64)
    for column, width in zip(columns, widths, strict=True):
        words <<= np.uint64(width)
        words |= column.astype(np.uint64)
    return words


def _unpack(
    words: NDArray[np.uint64], widths: list[int], columns: Sequence[NDArray[np.signedinteger]]
) -> Columns:
    unpacked: Columns = []
    shift = sum(widths)
    for column, width in zip(columns, widths, strict=True):
        shift -= width
        values = (words >> np.uint64(shift)) & np.uint64((1 << width) - 1)
        unpacked.append(values.astype(column.dtype))
    return unpacked


def _sum_rows(
    columns: Sequence[NDArray[np.signedinteger]], multiplicity: NDArray[np.int64]
) -> tuple[Columns, NDArray[np.int64]]:
    order = np.lexsort(tuple(reversed(columns)))
    first = np.zeros(len(order), np.bool_)
    first[0] = True
    for column in columns:
        ordered = column[order]
        first[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(first)
    sums = np.add.reduceat(multiplicity[order], starts)
    nonzero = sums != 0
    rows = order[starts[nonzero]]
    return [column[rows] for column in columns], sums[nonzero]
