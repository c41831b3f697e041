"""A collection in blocks. Invariant: it can be gone through again and again, block by block.

What an epoch changes may be more than the memory of one process holds: whoever goes through it has
one block at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Blocks(Generic[T]):
    """Blocks that are made while one goes through them.

    Attributes:
        make: Makes them, the same ones each time.
    """

    make: Callable[[], Iterable[T]]

    def __iter__(self) -> Iterator[T]:
        return iter(self.make())


def chosen(blocks: Iterable[T], wanted: Callable[[T], bool]) -> Iterable[T]:
    """The blocks that are wanted."""
    if isinstance(blocks, Blocks):
        return Blocks(lambda: filter(wanted, blocks))
    return tuple(filter(wanted, blocks))
