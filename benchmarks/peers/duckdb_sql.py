"""DuckDB: recursive SQL queries, from scratch every time. Invariant: the input is in a table in
memory before the timer starts, and the results are int64 arrays.
"""  # noqa: D205

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.peers import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLOSURE = """
    WITH RECURSIVE path(x, z) AS (
        SELECT x, y FROM edge
        UNION
        SELECT path.x, edge.y FROM path JOIN edge ON path.z = edge.x
    ) SELECT x, z FROM path
"""
# USING KEY keeps one row per node; only shorter distances enter the next round.
SSSP = """
    WITH RECURSIVE dist(node, d) USING KEY (node) AS (
        SELECT ?::INTEGER, 0::INTEGER
        UNION
        SELECT edge.y, min(dist.d + edge.w)::INTEGER
        FROM dist
        JOIN edge ON dist.node = edge.x
        LEFT JOIN recurring.dist AS known ON known.node = edge.y
        WHERE known.d IS NULL OR dist.d + edge.w < known.d
        GROUP BY edge.y
    ) SELECT node, d FROM dist
"""
TRIANGLES = """
    WITH link AS (SELECT DISTINCT least(x, y) AS x, greatest(x, y) AS y FROM edge WHERE x <> y)
    SELECT count(*)
    FROM link AS a JOIN link AS b ON a.y = b.x JOIN link AS c ON a.x = c.x AND b.y = c.y
"""
CYCLES = """
    SELECT count(*)
    FROM edge AS a JOIN edge AS b ON a.y = b.x JOIN edge AS c ON b.y = c.x
    JOIN edge AS d ON c.y = d.x AND d.y = a.x
    WHERE a.x < a.y AND a.x < b.y AND a.x < c.y AND a.y <> c.y
"""
CLIQUES = """
    WITH link AS (SELECT DISTINCT least(x, y) AS x, greatest(x, y) AS y FROM edge WHERE x <> y)
    SELECT count(*)
    FROM link AS a JOIN link AS b ON a.y = b.x JOIN link AS c ON a.x = c.x AND b.y = c.y
    JOIN link AS d ON a.x = d.x JOIN link AS e ON a.y = e.x AND d.y = e.y
    JOIN link AS f ON b.y = f.x AND d.y = f.y
"""
# A node's number is half the hash of a text, as Logica has it, modulo the number of nodes.
HASHED = """
    SELECT x::INTEGER, y::INTEGER FROM (
        SELECT (hash('a-' || i) // 2::UBIGINT) % $nodes AS x,
               (hash('b-' || i) // 2::UBIGINT) % $nodes AS y, i
        FROM range($nodes * 11) AS numbers(i)
    ) WHERE x <> y ORDER BY i LIMIT $nodes * 10
"""


def hashed(nodes: int) -> NDArray[np.int32]:
    """The graph of Logica's benchmark with that many nodes: distinct edges, ten for each node."""
    edges = require("duckdb").connect().execute(HASHED, {"nodes": nodes})
    return np.unique(_rows(edges), axis=0).astype(np.int32)


def table(edges: NDArray[np.int32], threads: int = 1) -> Any:
    """A connection to a database whose table `edge` has columns x, y and, if there are three, w."""
    connection = require("duckdb").connect()
    connection.execute(f"SET threads TO {int(threads)}")
    columns = [np.ascontiguousarray(column) for column in edges.T]
    rows = pa.table(dict(zip("xyw", columns, strict=False)))
    connection.register("rows", rows)
    connection.execute("CREATE TABLE edge AS SELECT * FROM rows")
    return connection


def closure(connection: Any) -> NDArray[np.int64]:
    """Pairs (x, z) with a path of at least one edge; int64 of shape (n, 2)."""
    return _rows(connection.execute(CLOSURE))


def sssp(connection: Any, source: int) -> NDArray[np.int64]:
    """Pairs (node, distance) of what is reached from *source*; int64 of shape (n, 2)."""
    return _rows(connection.execute(SSSP, [source]))


def triangles(connection: Any) -> int:
    """Number of sets of three nodes with an edge, in either direction, between each two."""
    return int(connection.execute(TRIANGLES).fetchone()[0])


def cycles(connection: Any) -> int:
    """Number of directed cycles of four nodes."""
    return int(connection.execute(CYCLES).fetchone()[0])


def cliques(connection: Any) -> int:
    """Number of sets of four nodes with an edge, in either direction, between each two."""
    return int(connection.execute(CLIQUES).fetchone()[0])


def _rows(found: Any) -> NDArray[np.int64]:
    return np.column_stack([*found.fetchnumpy().values()]).astype(np.int64)
