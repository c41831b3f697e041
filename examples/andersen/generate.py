"""Statements of a program with pointers. Invariant: objects are not variables."""

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
    """*size* variables, half as many objects, and two statements for each variable."""
    variables = [f"v{number}" for number in range(size)]
    objects = [f"o{number}" for number in range(size // 2)]
    for variable in random.sample(variables, size // 2):
        yield "address", (variable, random.choice(objects))
    # Pointers to pointers, for loads and stores to follow.
    yield "address", (random.choice(variables), random.choice(variables))
    for _ in range(size * 3 // 2):
        kind = random.choice(("assign", "assign", "load", "store"))
        target, source = random.sample(variables, 2)
        yield kind, (target, source)


if __name__ == "__main__":
    main(facts, size=10)
