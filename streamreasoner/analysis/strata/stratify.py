"""Strata. Invariant: a rule depends only on rules of its own stratum and earlier ones."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.circular import circle
from streamreasoner.analysis.strata.components import components
from streamreasoner.analysis.strata.dependency import Through
from streamreasoner.analysis.strata.flows import guarded
from streamreasoner.analysis.strata.guards import MOST_GUARDS, pattern
from streamreasoner.lang.ast import ARITIES, Atom, Negation
from streamreasoner.lang.diagnostic import Diagnostic, line_of
from streamreasoner.lang.limits import ATOMS
from streamreasoner.lang.normal_form import aggregates, aggregates_matches
from streamreasoner.lang.printer import print_literal
from streamreasoner.values.builtins import MONOTONE_AGGREGATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.analysis.strata.circular import Circle
    from streamreasoner.analysis.strata.dependency import Dependency
    from streamreasoner.analysis.strata.guards import Guarded
    from streamreasoner.lang.ast import Rule, Span

_FORBIDDEN = {
    Through.NEGATION: ("SR301", "its own negation", "not "),
    Through.AGGREGATE: ("SR302", "itself through an aggregate", "aggregate over "),
}
_BREAK = "break the cycle, or negate what is asserted alone, `not asserted …`"


def strata(graph: Sequence[Sequence[Dependency]]) -> tuple[tuple[int, ...], ...]:
    """Return the strongly connected components, each sorted, dependencies first."""
    return components([[each.on for each in needed] for needed in graph])


def decided_strata(
    rules: Sequence[Rule], graph: Sequence[Sequence[Dependency]]
) -> dict[tuple[int, ...], Guarded | None]:
    """The strata in dependency order, each with how the schema decides the negation inside it.

    Args:
        rules: Rules in normal form.
        graph: The dependencies of each rule.
    """
    return {members: guarded(rules, members, graph) for members in strata(graph)}


def unstratifiable(
    rules: Sequence[Rule],
    graph: Sequence[Sequence[Dependency]],
    components: Mapping[tuple[int, ...], Guarded | None],
    prefixes: Mapping[str, str],
    facts: Sequence[Atom] = (),
) -> Iterator[Diagnostic]:
    """Report negation and non-monotone aggregates inside a stratum, with the cycle.

    Args:
        rules: Rules in normal form.
        graph: The dependencies of each rule.
        components: Their strata, see `decided_strata`.
        prefixes: Prefixes to print IRIs with.
        facts: What the program states; it may decide whether negation is circular.
    """
    stratum = {rule: index for index, members in enumerate(components) for rule in members}
    by_schema = set()
    for index, (members, decided) in enumerate(components.items()):
        if decided is not None:
            by_schema.add(index)
            if (large := _too_large(decided, rules, members)) is not None:
                yield large
                continue
            given = (replace(each, asserted=True) for each in facts)
            found = circle(decided, rules, (*facts, *given), prefixes)
            if found is not None:
                yield _circular(found, rules[found.rule], prefixes)
    for edge in (edge for edges in graph for edge in edges):
        if edge.through not in _FORBIDDEN or stratum[edge.rule] != stratum[edge.on]:
            continue
        head = rules[edge.rule].head
        is_decided = edge.through is Through.NEGATION and stratum[edge.rule] in by_schema
        # Matches that are aggregated cannot wait: they are complete before the stratum.
        if is_decided and not aggregates_matches(head):
            continue
        code, how, _ = _FORBIDDEN[edge.through]
        hint = _BREAK if edge.through is Through.NEGATION else "break the cycle"
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


def _too_large(
    decided: Guarded, rules: Sequence[Rule], members: Sequence[int]
) -> Diagnostic | None:
    """Report the first rule that the segments, or the plans, of a stratum have no room for."""
    hint = "negate what is asserted alone, `not asserted …`, or predicates of your own"
    seen: set[Atom] = set()
    for rule in (rules[index] for index in members):
        negated = [each.atom for each in rule.body if isinstance(each, Negation)]
        guards = {pattern(each) for each in negated if isinstance(each, Atom)} & {*decided.guards}
        seen |= guards
        if len(seen) > MOST_GUARDS:
            message = (
                f"rules negate at most {MOST_GUARDS} different predicates and classes that rules"
                " with variable predicates may derive, and this is the next"
            )
            return Diagnostic("SR208", message, rule.span, hint)
        # Each guard of a body is waited for by one more atom.
        if len(guards) + len(negated) + len(rule.atoms) > ATOMS:
            message = f"a body has at most {ATOMS} atoms, of which such negated ones count twice"
            return Diagnostic("SR208", message, rule.span, hint)
    return None


def _circular(found: Circle, rule: Rule, prefixes: Mapping[str, str]) -> Diagnostic:
    """Report a cycle at the first negated atom of it."""
    negated = (each.atom for each in rule.body if isinstance(each, Negation))
    at = next(each for each in negated if isinstance(each, Atom) and pattern(each) == found.guard)
    return Diagnostic(
        "SR301",
        f"'{print_literal(rule.head, prefixes)}' depends on its own negation, so the program"
        " cannot be stratified",
        at.span,
        f"{_BREAK}: {found.steps}",
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
