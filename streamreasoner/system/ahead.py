"""The next item is made in another thread. Invariant: items and errors come as without it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from streamreasoner.system.processors import processors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_Item = TypeVar("_Item")


@contextmanager
def one_ahead(items: Iterable[_Item]) -> Iterator[Iterator[_Item]]:
    """Iterate over items, each of which is made while the caller works with the one before.

    On a single processor they are made when the caller asks for them. After the block no thread
    makes items, however it was left.

    Args:
        items: What the caller does with an item must neither change nor read what making the next
            one changes.
    """
    if processors() == 1:
        yield iter(items)
        return
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as pool:
        yield _handed_over(iter(items), pool)


def _handed_over(items: Iterator[_Item], pool: ThreadPoolExecutor) -> Iterator[_Item]:
    """The items of an iterator that runs in a pool; at most one waits."""
    coming = pool.submit(_take, items)
    while item := coming.result():
        coming = pool.submit(_take, items)
        yield item[0]


def _take(items: Iterator[_Item]) -> tuple[_Item, ...]:
    """The next item, or none."""
    return tuple(islice(items, 1))
