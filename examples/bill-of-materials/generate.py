"""Products and parts. Invariant: a part is made of simpler parts, or bought."""

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
    """*size* things; the last half is bought, most of it at a known price in cents."""
    for assembly in range(size // 2):
        simpler = range(assembly + 1, size)
        for part in random.sample(simpler, min(len(simpler), random.randint(1, 3))):
            yield "part", (f"t{assembly}", f"t{part}", random.randint(1, 4))
    for bought in range(size // 2, size):
        if random.random() < 7 / 8:
            yield "price", (f"t{bought}", random.randint(5, 500))


if __name__ == "__main__":
    main(facts, size=12)
