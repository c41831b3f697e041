"""Graphs and program graphs to measure on. Invariant: the same arguments give the same arrays.

Every generator returns int32 rows, distinct and in a random but fixed order unless it says
otherwise. Nodes are numbered from 0. Nothing here is real data; the sizes and shapes are those of
published benchmarks, named in each docstring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SOCIAL_NODES = 81_306
SOCIAL_EDGES = 2_400_000
CIRCLE = 160
INSIDE = 0.55
SKEW = 0.6
PROCEDURE = 256
DIRECT, AWAY, BACK, POPULAR = 0.7, 0.02, 0.03, 4
STATEMENTS = 60


@dataclass(frozen=True, slots=True)
class ProgramSize:
    """Edges of a points-to graph: those of the data set of Graspan (ASPLOS 2017), at full scale.

    Attributes:
        nodes: Variables, fields and memory cells.
        assigns: Assignments.
        dereferences: From a pointer to the cell it points to.
    """

    nodes: int
    assigns: int
    dereferences: int


PROGRAMS = {
    "httpd": ProgramSize(1_721_418, 362_799, 1_147_612),
    "postgresql": ProgramSize(5_203_419, 1_209_597, 3_468_946),
    "linux": ProgramSize(11_254_434, 1_981_258, 7_502_955),
}


def chain(nodes: int) -> NDArray[np.int32]:
    """Edges 0 → 1 → … in order; int32 of shape (nodes - 1, 2)."""
    numbers = np.arange(nodes, dtype=np.int32)
    return np.column_stack([numbers[:-1], numbers[1:]])


def cycle(nodes: int) -> NDArray[np.int32]:
    """A chain whose last node leads back to the first; int32 of shape (nodes, 2), in order."""
    numbers = np.arange(nodes, dtype=np.int32)
    return np.column_stack([numbers, np.roll(numbers, -1)])


def clique(nodes: int) -> NDArray[np.int32]:
    """An edge from every node to every other; int32 of shape (nodes * (nodes - 1), 2), in order."""
    source, target = np.nonzero(~np.eye(nodes, dtype=bool))
    return np.column_stack([source, target]).astype(np.int32)


def grid(width: int, height: int) -> NDArray[np.int32]:
    """Edges to the right and down; int32 of shape (n, 2), in order. Many paths, and no cycle."""
    numbers = np.arange(width * height, dtype=np.int32).reshape(height, width)
    right = np.column_stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()])
    down = np.column_stack([numbers[:-1].ravel(), numbers[1:].ravel()])
    return np.concatenate([right, down])


def uniform(nodes: int, edges: int, seed: int = 0) -> NDArray[np.int32]:
    """*edges* edges between random nodes, without loops; int32 of shape (edges, 2)."""
    random = np.random.default_rng(seed)

    def draw(count: int) -> NDArray[np.int64]:
        return random.integers(0, nodes, (count, 2))

    return _distinct(draw, nodes, edges, random)


def social(
    edges: int = SOCIAL_EDGES, nodes: int = SOCIAL_NODES, weights: int = 8, seed: int = 0
) -> NDArray[np.int32]:
    """A directed social graph with weights; int32 of shape (edges, 3): from, to, weight.

    Sized like the Twitter circles of SNAP: about 81 thousand nodes, 2.4 million edges. Nodes have
    power-law popularity, and more than half of the edges stay in a circle of about 160 nodes. Every
    node has an edge. Weights are uniform from 1 to *weights*.
    """
    random = np.random.default_rng(seed)
    names = random.permutation(nodes)
    shares = np.cumsum((np.arange(nodes) + 10.0) ** -SKEW)
    shares /= shares[-1]

    def draw(count: int) -> NDArray[np.int64]:
        source = np.searchsorted(shares, random.random(count))
        target = np.searchsorted(shares, random.random(count))
        # Circles mix popular and unpopular nodes: a circle is every k-th node by popularity.
        circles = max(1, nodes // CIRCLE)
        place = random.integers(0, max(1, nodes // circles), count)
        near = np.minimum(source % circles + place * circles, nodes - 1)
        target = np.where(random.random(count) < INSIDE, near, target)
        return np.column_stack([names[source], names[target]])

    everyone = np.column_stack([np.arange(nodes), np.roll(np.arange(nodes), -1)])[:edges]
    graph = _distinct(draw, nodes, edges, random, everyone)
    weight = random.integers(1, weights + 1, edges, dtype=np.int32)
    return np.column_stack([graph, weight])


def pointers(variables: int, seed: int = 0) -> tuple[NDArray[np.int32], ...]:
    """Statements of a made-up program with pointers; int32 arrays of shape (n, 2).

    Objects are numbered from *variables* on. Half of the variables have the address of one of half
    as many objects, and one that of a variable. As many statements again as there are variables
    and half of that are random: half of them assignments, the others loads and stores.

    Returns:
        Addresses taken, assignments, loads and stores, as in `examples/andersen`.
    """
    random = np.random.default_rng(seed)
    half = variables // 2
    owners = random.permutation(variables)[:half]
    address = np.column_stack([owners, variables + random.integers(0, half, half)])
    address = np.concatenate([address, random.integers(0, variables, (1, 2))])
    rest = random.integers(0, variables, (variables * 3 // 2, 2))
    rest = rest[rest[:, 0] != rest[:, 1]]
    kind = random.integers(0, 4, len(rest))
    parts = (address, rest[kind < 2], rest[kind == 2], rest[kind == 3])  # noqa: PLR2004
    shuffled = (random.permutation(np.unique(part, axis=0)) for part in parts)
    return tuple(part.astype(np.int32) for part in shuffled)


def points_to(
    program: str = "httpd", scale: float = 0.01, seed: int = 0
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Assignments and dereferences of a synthetic program; two int32 arrays of shape (n, 2).

    Nodes, assignments and dereferences are in the proportions of `PROGRAMS[program]`. Variables
    belong to procedures of about 256 nodes. A dereference leads to each cell from one variable or
    cell, so the dereferences are trees. Assignments are between nodes of one procedure, mostly from
    earlier to later ones, and some of these are popular; a few go to another procedure, and a few
    go back, which closes cycles.
    """
    size = PROGRAMS[program]
    nodes, assigns, dereferences = (
        max(4, round(count * scale)) for count in (size.nodes, size.assigns, size.dereferences)
    )
    random = np.random.default_rng(seed)
    # Variables come first, then the cells, one for each dereference; an owner is an earlier node.
    variables = max(2, nodes - dereferences)
    cells = np.arange(variables, variables + dereferences)
    owner = random.integers(0, np.where(random.random(dereferences) < DIRECT, variables, cells))
    nodes = variables + dereferences
    root = np.concatenate([np.arange(variables), owner])
    while (root >= variables).any():
        root = root[root]
    # Procedures are ranges of variables, with the cells that belong to them.
    procedure = root * max(1, nodes // PROCEDURE) // variables
    last = int(procedure.max())
    order = np.argsort(procedure, kind="stable")
    starts = np.searchsorted(procedure[order], np.arange(last + 2))

    def draw(count: int) -> NDArray[np.int64]:
        # A power, so that some nodes of a procedure are popular.
        source = order[random.integers(0, nodes, count)]
        home = procedure[source]
        home = np.where(random.random(count) < AWAY, random.integers(0, last + 1, count), home)
        length = starts[home + 1] - starts[home]
        target = order[starts[home] + (random.random(count) ** POPULAR * length).astype(np.int64)]
        pairs = np.column_stack([source, target])
        ahead = random.random(count) >= BACK
        pairs[ahead] = np.sort(pairs[ahead], axis=1)
        return pairs

    dereference = np.column_stack([owner, cells]).astype(np.int32)
    return _distinct(draw, nodes, assigns, random), random.permutation(dereference)


def data_flow(procedures: int = 1000, seed: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Null assignments and control flow of a synthetic program; two int32 arrays of shape (n, 2).

    The first has, for one statement in 40, an edge (statement, next statement) where a null value
    begins; the second has the flow: each procedure is a chain of about 60 statements with branches
    that skip a few, loops that go back a few, and calls that lead to a later procedure.
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(STATEMENTS // 2, STATEMENTS * 3 // 2, procedures)
    ends = np.cumsum(lengths)
    statements = int(ends[-1])
    numbers = np.arange(statements)
    end = np.repeat(ends, lengths)
    start = end - np.repeat(lengths, lengths)
    inner = numbers[numbers + 1 < end]
    skips = random.choice(numbers, statements // 8, replace=False)
    loops = random.choice(numbers, statements // 25, replace=False)
    calls = random.choice(numbers, statements // 200 + 1, replace=False)
    later = np.minimum(np.searchsorted(ends, calls, side="right") + 1, procedures - 1)
    flow = np.concatenate(
        [
            np.column_stack([inner, inner + 1]),
            np.column_stack(
                [skips, np.minimum(skips + random.integers(2, 9, len(skips)), end[skips] - 1)]
            ),
            np.column_stack(
                [loops, np.maximum(loops - random.integers(2, 16, len(loops)), start[loops])]
            ),
            np.column_stack([calls, ends[later] - lengths[later]]),
        ]
    )
    flow = np.unique(flow[flow[:, 0] != flow[:, 1]], axis=0)
    nulls = random.choice(inner, max(1, len(inner) // 40), replace=False)
    return (
        np.column_stack([nulls, nulls + 1]).astype(np.int32),
        random.permutation(flow).astype(np.int32),
    )


def _distinct(
    draw: Callable[[int], NDArray[np.int64]],
    nodes: int,
    count: int,
    random: np.random.Generator,
    first: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]:
    """*count* distinct edges without loops from a source of random ones, after those of *first*.

    Raises:
        ValueError: *nodes* nodes cannot have *edges* edges.
    """
    if count > nodes * (nodes - 1):
        raise ValueError(f"{nodes} nodes do not have {count} edges.")
    keys = np.empty(0, np.int64) if first is None else first[:, 0] * nodes + first[:, 1]
    while (missing := count - len(keys)) > 0:
        pairs = draw(missing + missing // 4 + 16)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        fresh = np.setdiff1d(pairs[:, 0] * nodes + pairs[:, 1], keys)
        keys = np.concatenate([keys, random.permutation(fresh)[:missing]])
    keys = random.permutation(keys)
    return np.column_stack([keys // nodes, keys % nodes]).astype(np.int32)
