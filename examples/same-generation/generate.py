"""People of several generations. Invariant: parents are older than children."""

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
    """*size* people; all but the oldest have one or two of the four before their elders."""
    for child in range(4, size):
        oldest = child // 4 * 4 - 4
        for parent in random.sample(range(oldest, oldest + 4), random.choice((1, 2))):
            yield "parent", (f"p{child}", f"p{parent}")


if __name__ == "__main__":
    main(facts, size=16)
