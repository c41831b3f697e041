"""Clusters of nodes. Invariant: links stay inside a cluster of up to ten."""

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
    """*size* nodes and as many links, each inside a cluster of ten numbers in a row."""
    for _ in range(size):
        first = random.randrange(0, size, 10)
        cluster = range(first + 1, min(first + 10, size) + 1)
        yield "link", tuple(random.sample(cluster, 2))


if __name__ == "__main__":
    main(facts, size=20)
