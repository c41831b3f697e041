"""Stratification (SPARQL 1.2 RL, Stratification Condition).

Invariant: no cycle of an accepted rule set has a closed dependency.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.lang.diagnostic import Diagnostic, line_of
from streamreasoner.lang.printer import print_expression
from streamreasoner.sparql.algebra import Apply
from streamreasoner.sparql.rule_set import Assignment
from streamreasoner.srl.dependencies import makes_nodes
from streamreasoner.values.functions.term_functions import SKOLEM_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.lang.ast import Span
    from streamreasoner.sparql.algebra import Expression, Node
    from streamreasoner.sparql.rule_set import Rule, RuleSet, Triple
    from streamreasoner.srl.dependencies import Dependency

_BREAK = "break the cycle, or match the base graph alone: `NOT DATA { … }` or `WHERE DATA { … }`"


def not_stratified(
    rule_set: RuleSet, graph: Sequence[Sequence[Dependency]]
) -> Iterator[Diagnostic]:
    """Report each closed dependency that is part of a cycle, with the cycle."""
    reported: set[tuple[int, Span]] = set()
    prefixes = dict(rule_set.prefixes)
    for edge in (edge for edges in graph for edge in edges):
        if not edge.closed or (edge.rule, edge.pattern.span) in reported:
            continue
        path = path_between(graph, edge.on, edge.rule)
        if path is None:
            continue
        reported.add((edge.rule, edge.pattern.span))
        here = edge.pattern.span
        why = (
            "it is in NOT"
            if edge.negated
            else "its rule runs once, as it assigns a variable or makes terms"
        )
        steps = "; ".join(
            f"the rule of {line_of(rule_set.rules[each.rule].span, here)} needs "
            f"{'NOT ' if each.negated else ''}{shown(each.pattern, prefixes)}"
            for each in (edge, *path)
        )
        yield Diagnostic(
            "SR304",
            "this pattern is a closed dependency in a cycle of the dependency graph, so the rule "
            f"set does not satisfy the stratification condition: {why}",
            here,
            f"{_BREAK}: {steps}",
        )


def too_deep(rule_set: RuleSet, graph: Sequence[Sequence[Dependency]]) -> Iterator[Diagnostic]:
    """Report the first rule of a stratified rule set whose nodes may be nested too deeply.

    A rule that makes nodes is in no cycle, so the levels grow along paths alone, and end.
    """
    makes = [_levels(rule, rule_set.blank_nodes) for rule in rule_set.rules]
    if sum(makes) <= SKOLEM_DEPTH:
        return
    levels = [0] * len(makes)
    changed = True
    while changed:
        found = [
            max((levels[edge.on] for edge in edges), default=0) + makes[index]
            for index, edges in enumerate(graph)
        ]
        changed, levels = found != levels, found
    for rule, level in zip(rule_set.rules, levels, strict=True):
        if level > SKOLEM_DEPTH:
            yield Diagnostic(
                "SR272",
                f"the nodes that this rule makes may be of {level} levels, with those of the rules "
                f"before it, and at most {SKOLEM_DEPTH} are made",
                rule.span,
                "name the nodes of some levels by IRIs: `SET(?node := IRI(CONCAT(…)))`",
            )
            return


def _levels(rule: Rule, blank_nodes: frozenset[str]) -> int:
    """How many levels of nodes a rule adds: one by its head, and one by each BNODE."""
    return makes_nodes(rule, blank_nodes) + sum(
        _nodes_made(each.expression) for each in rule.body if isinstance(each, Assignment)
    )


def _nodes_made(expression: Expression) -> int:
    match expression:
        case Apply(function, arguments):
            return (function == "BNODE") + sum(map(_nodes_made, arguments))
        case _:
            return 0


def path_between(
    graph: Sequence[Sequence[Dependency]], start: int, goal: int
) -> list[Dependency] | None:
    """A shortest path of dependencies from one rule to another; None if there is none."""
    reached: dict[int, Dependency | None] = {start: None}
    queue = deque([start])
    while queue and goal not in reached:
        for edge in graph[queue.popleft()]:
            if edge.on not in reached:
                reached[edge.on] = edge
                queue.append(edge.on)
    if goal not in reached:
        return None
    path = []
    while (last := reached[goal]) is not None:
        path.append(last)
        goal = last.rule
    return path[::-1]


def shown(triple: Triple, prefixes: Mapping[str, str]) -> str:
    """A triple pattern as the text has it."""
    return " ".join(_shown(term, prefixes) for term in triple.terms)


def _shown(term: Node, prefixes: Mapping[str, str]) -> str:
    match term:
        case Constant():
            return print_expression(term, prefixes)
        case Variable(name):
            # Only blank nodes and the nodes of paths have a dot.
            return "[]" if "." in name else f"?{name}"
        case _:
            parts = (_shown(part, prefixes) for part in term.parts)
            return f"<<( {' '.join(parts)} )>>"
