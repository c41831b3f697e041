"""A random graph with about as many edges as nodes. Invariant: no loops."""

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
    """Edges between *size* nodes, three for every two of them; some close cycles."""
    for _ in range(size * 3 // 2):
        source, target = random.sample(range(1, size + 1), 2)
        yield "edge", (source, target)


if __name__ == "__main__":
    main(facts, size=8)
