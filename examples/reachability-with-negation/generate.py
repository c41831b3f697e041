"""A network. Invariant: the Internet connects, nothing connects to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from generator import Fact, main

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator


EX = "http://example.org/net#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def facts(size: int, random: random.Random) -> Iterator[Fact]:
    """*size* hosts, twice as many connections, and a firewall that blocks every fourth."""
    hosts = [f"<{EX}h{number}>" for number in range(size)]
    yield "triple", (f"<{EX}outside>", TYPE, f"<{EX}Internet>")
    for host in hosts:
        yield "triple", (host, TYPE, f"<{EX}Host>")
    for number in range(size * 2):
        source, target = random.sample(hosts, 2)
        if number < size // 4:
            source = f"<{EX}outside>"
        yield "triple", (source, f"<{EX}connects>", target)
        if random.random() < 1 / 4:
            yield "triple", (source, f"<{EX}blocks>", target)


if __name__ == "__main__":
    main(facts, size=10)
