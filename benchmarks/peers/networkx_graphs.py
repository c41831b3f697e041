"""networkx: graph algorithms in Python, from scratch every time. Invariant: its graph is built
before the timer starts, by `graph`, and the results are int64 arrays.
"""  # noqa: D205

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers import require

if TYPE_CHECKING:
    from numpy.typing import NDArray


def graph(edges: NDArray[np.int32]) -> Any:
    """A directed graph; the third column, if there is one, is the weight."""
    networkx = require("networkx")
    found = networkx.DiGraph()
    if edges.shape[1] == 2:  # noqa: PLR2004
        found.add_edges_from(edges.tolist())
    else:
        found.add_weighted_edges_from(edges.tolist())
    return found


def closure(found: Any) -> NDArray[np.int64]:
    """Pairs (x, z) with a path of at least one edge; int64 of shape (n, 2)."""
    return _pairs(require("networkx").transitive_closure(found).edges())


def sssp(found: Any, source: int) -> NDArray[np.int64]:
    """Pairs (node, distance) of what is reached from *source*; int64 of shape (n, 2)."""
    return _pairs(require("networkx").single_source_dijkstra_path_length(found, source).items())


def components(found: Any) -> NDArray[np.int64]:
    """Pairs (node, least node of its undirected component)."""
    parts = require("networkx").weakly_connected_components(found)
    return _pairs((node, least) for part in parts for least in [min(part)] for node in part)


def _pairs(pairs: Any) -> NDArray[np.int64]:
    return np.array(list(pairs), np.int64).reshape(-1, 2)
