"""Towns and one-way roads. Invariant: no two roads lead from one town to another."""

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
    """*size* towns and twice as many roads, of length 1 to 9; the start is the first town."""
    yield "start", (1,)
    towns = {tuple(random.sample(range(1, size + 1), 2)) for _ in range(size * 2)}
    for source, target in sorted(towns):
        yield "road", (source, target, random.randint(1, 9))


if __name__ == "__main__":
    main(facts, size=10)
