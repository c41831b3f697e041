"""A small C program as a graph. Invariant: dereferences form trees, as types do in C."""

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
    """*size* variables: half as many cells that they or other cells point to, and assignments."""
    names = [f"v{number}" for number in range(size)]
    for number in range(size // 2):
        cell = f"c{number}"
        yield "dereference", (random.choice(names), cell)
        names.append(cell)
    for _ in range(size):
        # Mostly from earlier to later names, which leaves few cycles.
        source, target = sorted(random.sample(range(len(names)), 2))
        back = random.random() < 1 / 8
        pair = (names[target], names[source]) if back else (names[source], names[target])
        yield "assign", pair


if __name__ == "__main__":
    main(facts, size=12)
