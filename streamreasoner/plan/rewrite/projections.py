"""Projection of wildcards under negation. Invariant: a negated atom looks up a single fact.

`not edge(?x, _)` holds if no fact matches. The rule `#edge(?x) :- edge(?x, _)` counts the matching
facts, so that `not #edge(?x)` looks up a single one.
"""

from __future__ import annotations

from hashlib import sha256
from typing import assert_never

from streamreasoner.plan.algebra import Antijoin, PlanTree, Project, Scan, mapped
from streamreasoner.plan.operands import Column, Pattern, Value


def project_negated_wildcards(tree: PlanTree) -> PlanTree:
    """Project negated atoms with open positions to their columns."""
    return mapped(tree, _projected)


def _projected(node: PlanTree) -> PlanTree:
    match node:
        case Antijoin(below, Scan(pattern) as scan) if None in pattern.arguments:
            name = f"{pattern.predicate}[{_shape(pattern)}]"
            head = Pattern(name, tuple(map(Column, pattern.columns)))
            return Antijoin(below, Project(scan, head))
        case _:
            return node


def constants_tag(pattern: Pattern) -> str:
    """A short name for the constants of a pattern, if any, the same in every program."""
    if not pattern.constants:
        return ""
    return "." + sha256(repr(pattern.constants).encode()).hexdigest()[:8]


def _shape(pattern: Pattern) -> str:
    """The shape of a projection by position, independent of variable names."""
    letters = []
    for argument in pattern.arguments:
        match argument:
            case Column(name):
                letters.append(str(pattern.columns.index(name)))
            case Value():
                letters.append("c")
            case None:
                letters.append("_")
            case _:
                assert_never(argument)
    return ",".join(letters) + constants_tag(pattern)
