"""Random edges of a small cyclic graph, and what the oracle derives from them."""

from __future__ import annotations

from collections import Counter
from itertools import product

import oracle

from streamreasoner.program import check_text

RULES = """
@prefix ex: <http://example.org/> .
[?x, ex:reaches, ?y] :- [?x, ex:next, ?y] .
[?x, ex:reaches, ?z] :- [?x, ex:reaches, ?y], [?y, ex:reaches, ?z] .
"""


NODES = 6
FEW = 6
"""Edges of a graph that is neither empty nor complete."""


def random_edges(rng, count):
    """Updates (arguments of a triple, diff), asserted more often than retracted."""
    for _ in range(count):
        a, b = (f"<http://example.org/n{rng.randrange(NODES)}>" for _ in range(2))
        yield (a, "<http://example.org/next>", b), rng.choice((1, 1, 1, -1, -1))


def changing_edges(rng, count, present):
    """Updates (arguments of a triple, diff) that keep few edges, so that most change the closure.

    Args:
        rng: The source of randomness.
        count: How many.
        present: The edges that are there; changed.
    """
    every = set(product(range(NODES), repeat=2))
    for _ in range(count):
        retracts = rng.random() * 2 * FEW < len(present)
        edge = rng.choice(sorted(present if retracts else every - present))
        present ^= {edge}
        a, b = (f"<http://example.org/n{node}>" for node in edge)
        yield (a, "<http://example.org/next>", b), -1 if retracts else 1


def expected(sent, rules=RULES):
    """The derived facts of the sum of all updates."""
    sums = Counter()
    for args, diff in sent:
        sums["triple", args] += diff
    return oracle.derived(oracle.evaluate(check_text(rules), sums))
