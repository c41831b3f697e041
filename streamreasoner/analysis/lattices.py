"""Aggregating heads. Invariant: equal aggregates put a fact into at most one group."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.dependency import unifies
from streamreasoner.lang.ast import Aggregate, Constant
from streamreasoner.lang.diagnostic import Diagnostic, line_of
from streamreasoner.lang.normal_form import aggregates, is_lattice
from streamreasoner.lang.printer import print_literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.lang.ast import Atom, Rule


def lattice_clashes(rules: Sequence[Rule], prefixes: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Report aggregating heads of rules in normal form that put one fact into different groups."""
    earlier: dict[tuple[str, int], dict[Atom, None]] = defaultdict(dict)
    for rule in rules:
        head = rule.head
        if not aggregates(head):
            continue
        heads = earlier[head.predicate, head.arity]
        for other in heads:
            clash = _clash(head, other, prefixes) if unifies(head, other) else None
            if clash is not None:
                yield clash
                break
        heads.setdefault(head)


def _clash(head: Atom, other: Atom, prefixes: Mapping[str, str]) -> Diagnostic | None:
    pairs = tuple(zip(head.arguments, other.arguments, strict=True))
    where = f"{print_literal(other, prefixes)} in {line_of(other.span, head.span)}"
    message = f"this head and {where} can be the same fact, and differ in"
    separate = "or derive one of them into a predicate of its own"
    if any(_function(left) != _function(right) for left, right in pairs):
        if not is_lattice(head) and not is_lattice(other):
            return None  # two reductions, whose results are united
        return Diagnostic(
            "SR234",
            f"{message} their aggregates",
            head.span,
            f"use the same aggregate in both, {separate}",
        )
    if any(isinstance(left, Constant) is not isinstance(right, Constant) for left, right in pairs):
        return Diagnostic(
            "SR234",
            f"{message} their constants",
            head.span,
            f"write the same constants in both, {separate}",
        )
    return None


def _function(argument: object) -> tuple[str, bool] | None:
    return (argument.function, argument.distinct) if isinstance(argument, Aggregate) else None
