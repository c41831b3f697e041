"""An organisation. Invariant: a role inherits from roles before it only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from generator import Fact, main

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator


ACTIONS = ("read", "write", "approve")


def facts(size: int, random: random.Random) -> Iterator[Fact]:
    """*size* people, half as many roles and as many documents; few denials and exceptions."""
    roles = [f"role{number}" for number in range(size // 2)]
    people = [f"person{number}" for number in range(size)]
    documents = [f"document{number}" for number in range(size // 2)]
    for person in people:
        for role in random.sample(roles, random.choice((1, 2))):
            yield "member", (person, role)
    for number, role in enumerate(roles[1:], start=1):
        yield "inherits", (role, random.choice(roles[:number]))
    yield "excludes", tuple(random.sample(roles, 2))
    for role in roles:
        for _ in range(2):
            yield "grants", (role, random.choice(ACTIONS), random.choice(documents))
    for _ in range(size // 4):
        action, document = random.choice(ACTIONS), random.choice(documents)
        yield "denies", (random.choice(roles), action, document)
        yield "exempts", (random.choice(people), action, document)


if __name__ == "__main__":
    main(facts, size=8)
