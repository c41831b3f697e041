"""Strata. Invariant: a rule depends only on rules of its own stratum and earlier ones."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.dependency import Through
from streamreasoner.lang.ast import ARITIES
from streamreasoner.lang.diagnostic import Diagnostic, line_of
from streamreasoner.lang.normal_form import aggregates
from streamreasoner.lang.printer import print_literal
from streamreasoner.values.builtins import MONOTONE_AGGREGATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.analysis.strata.dependency import Dependency
    from streamreasoner.lang.ast import Rule, Span

_FORBIDDEN = {
    Through.NEGATION: ("SR301", "its own negation", "not "),
    Through.AGGREGATE: ("SR302", "itself through an aggregate", "aggregate over "),
}


def strata(graph: Sequence[Sequence[Dependency]]) -> tuple[tuple[int, ...], ...]:
    """Return the strongly connected components, each sorted, dependencies first.

    Tarjan's algorithm (SIAM J. Comput. 1, 1972) without recursion, as chains of rules may be long.
    """
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_rules: list[int] = []
    is_open = [False] * len(graph)
    components: list[tuple[int, ...]] = []
    for start in range(len(graph)):
        if start in order:
            continue
        work = [(start, 0)]
        while work:
            rule, step = work.pop()
            if step == 0:
                order[rule] = low[rule] = len(order)
                open_rules.append(rule)
                is_open[rule] = True
            else:
                low[rule] = min(low[rule], low[graph[rule][step - 1].on])
            for next_step in range(step, len(graph[rule])):
                target = graph[rule][next_step].on
                if target not in order:
                    work += [(rule, next_step + 1), (target, 0)]
                    break
                if is_open[target]:
                    low[rule] = min(low[rule], order[target])
            else:
                if low[rule] == order[rule]:
                    component = open_rules[open_rules.index(rule) :]
                    del open_rules[-len(component) :]
                    for member in component:
                        is_open[member] = False
                    components.append(tuple(sorted(component)))
    return tuple(components)


def unstratifiable(
    rules: Sequence[Rule],
    graph: Sequence[Sequence[Dependency]],
    prefixes: Mapping[str, str],
) -> Iterator[Diagnostic]:
    """Report negation and non-monotone aggregates inside a stratum, with the cycle."""
    stratum = {rule: index for index, members in enumerate(strata(graph)) for rule in members}
    for edge in (edge for edges in graph for edge in edges):
        if edge.through not in _FORBIDDEN or stratum[edge.rule] != stratum[edge.on]:
            continue
        code, how, _ = _FORBIDDEN[edge.through]
        head = rules[edge.rule].head
        hint = "break the cycle"
        if edge.through is Through.NEGATION:
            hint += ", or negate what is asserted alone, `not asserted …`"
        is_combined = edge.through is Through.AGGREGATE and any(
            item.function in MONOTONE_AGGREGATES for item in aggregates(head)
        )
        if is_combined:
            hint = "break the cycle, or give its `min` or `max` a head of its own"
        name = print_literal(head, prefixes) if head.predicate in ARITIES else head.predicate
        cycle = "; ".join(
            _step(rules, step, prefixes, edge.atom.span)
            for step in (edge, *_path(graph, edge.on, edge.rule))
        )
        yield Diagnostic(
            code,
            f"'{name}' depends on {how}, so the program cannot be stratified",
            edge.atom.span,
            f"{hint}: {cycle}",
        )


def _path(graph: Sequence[Sequence[Dependency]], start: int, goal: int) -> list[Dependency]:
    """Return a shortest path of dependencies from `start` to `goal`, in the same stratum."""
    reached: dict[int, Dependency | None] = {start: None}
    queue = deque([start])
    while goal not in reached:
        rule = queue.popleft()
        for edge in graph[rule]:
            if edge.on not in reached:
                reached[edge.on] = edge
                queue.append(edge.on)
    path = []
    while (last := reached[goal]) is not None:
        path.append(last)
        goal = last.rule
    return path[::-1]


def _step(rules: Sequence[Rule], edge: Dependency, prefixes: Mapping[str, str], here: Span) -> str:
    rule = rules[edge.rule]
    head = f"{print_literal(rule.head, prefixes)} ({line_of(rule.span, here)})"
    if edge.through is Through.SAME_HEAD:
        other = rules[edge.on]
        return (
            f"{head} and {print_literal(other.head, prefixes)}"
            f" ({line_of(other.span, here)}) can be the same fact"
        )
    how = _FORBIDDEN[edge.through][2] if edge.through in _FORBIDDEN else ""
    return f"{head} needs {how}{print_literal(edge.atom, prefixes)}"
