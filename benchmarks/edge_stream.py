"""A graph, and a stream of edges to add and remove. Invariant: every update changes the graph."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import generators

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Edges = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Stream:
    """A graph and a stream of single edges to add and remove.

    Attributes:
        first: The graph to load, with weights, int32 of shape (n, 3).
        rows: An edge per update, int32 of shape (updates, 3).
        signs: -1 to remove and 1 to add it, int64 of shape (updates,).
        last: The graph after all updates.
    """

    first: Edges
    rows: Edges
    signs: NDArray[np.int64]
    last: Edges


def stream(edges: int, count: int, seed: int = 0) -> Stream:
    """A social graph of *edges* edges, as dense as its model, and random updates."""
    nodes = round(generators.SOCIAL_NODES * edges / generators.SOCIAL_EDGES)
    nodes = max(nodes, 8 + 2 * math.isqrt(edges))  # a small graph is not a clique
    random = np.random.default_rng(seed)
    fresh = count // 4
    graph = generators.social(edges + fresh, nodes, seed=seed)
    signs = np.repeat([-1, 1], [count - count // 2, count // 2])
    signs = random.permutation(signs)
    present, absent = list(range(edges)), list(range(edges, edges + fresh))
    removed: list[int] = []
    chosen = []
    for sign in signs:
        if sign < 0:
            pool, other = present, removed
        else:
            # An addition takes a new or a removed edge, whichever there are more of.
            pool, other = (removed if len(removed) > len(absent) or not absent else absent), present
        place = random.integers(len(pool)) if pool else -1
        if place < 0:
            raise ValueError("No edge can be added: none was removed and there are no new ones.")
        pool[place], pool[-1] = pool[-1], pool[place]
        chosen.append(pool.pop())
        other.append(chosen[-1])
    return Stream(graph[:edges], graph[chosen], signs.astype(np.int64), graph[sorted(present)])
