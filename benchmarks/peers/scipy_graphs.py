"""scipy: compiled graph algorithms, from scratch every time. Invariant: results are int64 arrays,
which can be compared without scipy, so they also serve as oracles.
"""  # noqa: D205

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers import require

if TYPE_CHECKING:
    from numpy.typing import NDArray


def closure(edges: NDArray[np.int32]) -> NDArray[np.int64]:
    """Pairs (x, z) with a path of at least one edge; int64 of shape (n, 2). Memory: nodes²."""
    csgraph = require("scipy.sparse.csgraph", "scipy")
    matrix = _matrix(edges)
    steps = csgraph.shortest_path(matrix, method="D", unweighted=True)
    # From x over an edge to y, and from there anywhere, including y itself.
    return np.argwhere(matrix @ np.isfinite(steps).astype(np.float32) > 0)


def sssp(edges: NDArray[np.int32], source: int) -> NDArray[np.int64]:
    """Pairs (node, distance) of what is reached from *source*; int64 of shape (n, 2)."""
    csgraph = require("scipy.sparse.csgraph", "scipy")
    distances = csgraph.dijkstra(_matrix(edges), indices=source)
    reached = np.flatnonzero(np.isfinite(distances))
    return np.column_stack([reached, distances[reached].astype(np.int64)])


def components(edges: NDArray[np.int32]) -> NDArray[np.int64]:
    """Pairs (node, least node of its undirected component); all nodes have an edge."""
    csgraph = require("scipy.sparse.csgraph", "scipy")
    _, labels = csgraph.connected_components(_matrix(edges), directed=False)
    _, least = np.unique(labels, return_index=True)
    nodes = np.unique(edges[:, :2])
    return np.column_stack([nodes, least[labels[nodes]]])


def triangles(edges: NDArray[np.int32]) -> int:
    """Number of sets of three nodes with an edge, in either direction, between each two."""
    sparse = require("scipy.sparse", "scipy")
    pairs = np.unique(np.sort(edges[:, :2], axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    nodes = int(pairs.max()) + 1
    # Edges from fewer to more neighbours: degrees stay small, and each triangle is found once.
    degree = np.bincount(pairs.ravel(), minlength=nodes)
    place = np.argsort(np.argsort(degree, kind="stable"))
    low, high = np.sort(place[pairs], axis=1).T
    matrix = sparse.csr_array((np.ones(len(low), np.int32), (low, high)), shape=(nodes, nodes))
    return int((matrix @ matrix).multiply(matrix).sum())


def _matrix(edges: NDArray[np.int32]) -> Any:
    sparse = require("scipy.sparse", "scipy")
    weights = edges[:, 2] if edges.shape[1] > 2 else np.ones(len(edges), np.int32)  # noqa: PLR2004
    nodes = int(edges[:, :2].max()) + 1
    cells = (weights.astype(np.float32), (edges[:, 0], edges[:, 1]))
    return sparse.csr_array(cells, shape=(nodes, nodes))
