"""Sets of keys: distinct, in order. What numpy has for them hashes, badly where keys are packed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable

Keys: TypeAlias = NDArray[Any]
"""Values of one type that can be sorted."""
MANY = 1 << 12
"""Keys that are searched for in their order, which suits caches."""


def distinct(keys: Keys) -> Keys:
    """The set of some keys."""
    if len(keys) < 2:  # noqa: PLR2004 - nothing to compare
        return keys
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
    found = search(keys, ordered)
    found[ordered.take(found, mode="clip") != keys] = -1
    return found


def search(keys: Keys, ordered: Keys) -> NDArray[np.int64]:
    """Where each key would be in a set."""
    if len(keys) < MANY:
        return ordered.searchsorted(keys)
    order = keys.argsort()
    found = np.empty(len(keys), np.int64)
    found[order] = ordered.searchsorted(keys[order])
    return found


def starts(ordered: Keys) -> NDArray[np.bool_]:
    """Whether each key differs from the one before it."""
    different = np.empty(len(ordered), bool)
    different[:1] = True
    different[1:] = ordered[1:] != ordered[:-1]
    return different
