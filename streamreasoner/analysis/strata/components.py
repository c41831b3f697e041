"""Strongly connected components of a graph. Invariant: dependencies come first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def components(graph: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the components, each sorted, those that others depend on first.

    Tarjan's algorithm (SIAM J. Comput. 1, 1972) without recursion, as paths may be long.

    Args:
        graph: What each node depends on.
    """
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_nodes: list[int] = []
    is_open = [False] * len(graph)
    found: list[tuple[int, ...]] = []
    for start in range(len(graph)):
        if start in order:
            continue
        work = [(start, 0)]
        while work:
            node, step = work.pop()
            if step == 0:
                order[node] = low[node] = len(order)
                open_nodes.append(node)
                is_open[node] = True
            else:
                low[node] = min(low[node], low[graph[node][step - 1]])
            for next_step in range(step, len(graph[node])):
                target = graph[node][next_step]
                if target not in order:
                    work += [(node, next_step + 1), (target, 0)]
                    break
                if is_open[target]:
                    low[node] = min(low[node], order[target])
            else:
                if low[node] == order[node]:
                    component = open_nodes[open_nodes.index(node) :]
                    del open_nodes[-len(component) :]
                    for member in component:
                        is_open[member] = False
                    found.append(tuple(sorted(component)))
    return tuple(found)
