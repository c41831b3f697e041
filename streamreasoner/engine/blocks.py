"""A re-iterable sequence of blocks. Invariant: only one block is in memory at a time.

The changes of an epoch may exceed the memory of a process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Blocks(Generic[T]):
    """Blocks that are produced during iteration.

    Attributes:
        make: Produces the blocks, the same ones each time.
    """

    make: Callable[[], Iterable[T]]

    def __iter__(self) -> Iterator[T]:
        return iter(self.make())


def filter_blocks(blocks: Iterable[T], condition: Callable[[T], bool]) -> Iterable[T]:
    """The blocks that satisfy a condition."""
    if isinstance(blocks, Blocks):
        return Blocks(lambda: filter(condition, blocks))
    return tuple(filter(condition, blocks))
