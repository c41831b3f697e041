"""A graph with many short cycles. Invariant: no loops."""

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
    """*size* nodes on a ring and twice as many edges, between nodes that are near each other."""
    for _ in range(size * 2):
        node, step = random.randrange(size), random.randint(1, 3)
        yield "edge", (node + 1, (node + step) % size + 1)


if __name__ == "__main__":
    main(facts, size=10)
