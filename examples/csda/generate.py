"""Control flow of a program. Invariant: the first point reaches every other one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from generator import Fact, main

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator


def facts(size: int, random: random.Random) -> Iterator[Fact]:
    """*size* points: a way through all, branches forward, loops back, and null at every sixth."""
    for point in range(1, size):
        yield "flow", (point, point + 1)
    for _ in range(size // 3):
        source, target = random.sample(range(1, size + 1), 2)
        yield "flow", (source, target)
    for _ in range(size // 6):
        born = random.randrange(1, size)
        yield "nullEdge", (born, born + 1)
        yield "checked", (random.randrange(1, size + 1),)
    for _ in range(size // 3):
        yield "dereferenced", (random.randrange(1, size + 1),)


if __name__ == "__main__":
    main(facts, size=12)
