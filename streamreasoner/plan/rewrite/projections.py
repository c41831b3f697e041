"""Wildcards under a negation are projected away. Invariant: a negated atom asks for one fact.

`not edge(?x, _)` asks whether no fact at all matches. The rule `#edge(?x) :- edge(?x, _)` counts
those that do, so that `not #edge(?x)` asks for one fact.
"""

from __future__ import annotations

from hashlib import sha256
from typing import assert_never

from streamreasoner.plan.algebra import Column, Pattern, Value
from streamreasoner.plan.relational import Antijoin, Project, Relation, Scan, mapped


def project_negated_wildcards(tree: Relation) -> Relation:
    """Project negated atoms with open positions to the columns they have."""
    return mapped(tree, _projected)


def _projected(node: Relation) -> Relation:
    match node:
        case Antijoin(below, Scan(pattern) as scan) if None in pattern.arguments:
            name = f"{pattern.predicate}[{_shape(pattern)}]"
            head = Pattern(name, tuple(map(Column, pattern.columns)))
            return Antijoin(below, Project(scan, head))
        case _:
            return node


def constants_tag(pattern: Pattern) -> str:
    """A short name for the constants of a pattern, the same in every program; empty without."""
    if not pattern.constants:
        return ""
    return "." + sha256(repr(pattern.constants).encode()).hexdigest()[:8]


def _shape(pattern: Pattern) -> str:
    """What a projection keeps by position, whatever the names of the variables."""
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
