"""Sets of keys: distinct, in order. What numpy has for them hashes, badly where keys are packed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable

Keys: TypeAlias = NDArray[Any]
"""Values of one type that can be sorted."""


def distinct(keys: Keys) -> Keys:
    """The set of some keys."""
    ordered = np.sort(keys)
    return ordered[starts(ordered)]


def union(parts: Iterable[Keys]) -> Keys:
    """The keys of at least one of some arrays, of which there is one."""
    return distinct(np.concatenate([*parts]))


def difference(keys: Keys, others: Keys) -> Keys:
    """The keys of one set that another does not have."""
    return keys[places(keys, others) < 0]


def intersection(keys: Keys, others: Keys) -> Keys:
    """The keys of two sets."""
    return keys[places(keys, others) >= 0]


def places(keys: Keys, ordered: Keys) -> NDArray[np.int64]:
    """The place of each key in a set, or -1."""
    if not len(ordered):
        return np.full(len(keys), -1, np.int64)
    found = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    return np.where(ordered[found] == keys, found, -1)


def starts(ordered: Keys) -> NDArray[np.bool_]:
    """Whether each key differs from the one before it."""
    different = np.ones(len(ordered), bool)
    different[1:] = ordered[1:] != ordered[:-1]
    return different
