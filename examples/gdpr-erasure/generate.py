"""Customers of a shop. Invariant: a person's data are triples that name the person."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from generator import Fact, main

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator


EX = "http://example.org/shop#"
CITIES = ("Oslo", "Riga")


def facts(size: int, random: random.Random) -> Iterator[Fact]:
    """*size* people with mail, city, friends and what they bought; half as many products."""
    people = [f"<{EX}person{number}>" for number in range(size)]
    products = [f"<{EX}product{number}>" for number in range(size // 2)]
    for product in products:
        price = f'"{random.randint(1, 90)}"^^<http://www.w3.org/2001/XMLSchema#integer>'
        yield "triple", (product, f"<{EX}price>", price)
    for number, person in enumerate(people):
        yield "triple", (person, f"<{EX}mail>", f'"person{number}@example.org"')
        yield "triple", (person, f"<{EX}livesIn>", f"<{EX}{random.choice(CITIES)}>")
        friend = people[(number + random.randrange(1, size)) % size]
        yield "triple", (person, f"<{EX}knows>", friend)
        for product in random.sample(products, random.randint(0, 2)):
            yield "triple", (person, f"<{EX}bought>", product)


if __name__ == "__main__":
    main(facts, size=6)
