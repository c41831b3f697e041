"""A re-iterable sequence of blocks. Invariant: only one block is in memory at a time.

The changes of an epoch may exceed the memory of a process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from streamreasoner.engine.updates import Changes

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


def of_predicates(blocks: Iterable[Changes], predicates: Container[str]) -> Iterable[Changes]:
    """The changes of some predicates."""

    def found() -> Iterator[Changes]:
        return (each for each in blocks if each.predicate in predicates)

    return Blocks(found) if isinstance(blocks, Blocks) else tuple(found())
