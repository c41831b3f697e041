"""Dependencies between rules. Invariant: rules that can derive a common fact depend on each other.

The graph relates atoms, not predicates: a body atom depends on a head only if their constants
unify, so triples with different predicates stay independent.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Atom, Constant, Negation
from streamreasoner.lang.normal_form import aggregates_matches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamreasoner.lang.ast import Rule


class Through(Enum):
    """How a rule depends on another."""

    ATOM = "atom"
    NEGATION = "negation"
    AGGREGATE = "aggregate"
    SAME_HEAD = "same head"


@dataclass(frozen=True, slots=True)
class Dependency:
    """A body atom of one rule that unifies with the head of another (or two heads that unify).

    Attributes:
        rule: Index of the rule that depends.
        on: Index of the rule it depends on.
        through: The kind of dependency.
        atom: The atom of `rule` that unifies with the head of `on`.
    """

    rule: int
    on: int
    through: Through
    atom: Atom


def unifies(first: Atom, second: Atom) -> bool:
    """Whether the constants of both atoms agree; variables match anything.

    Repeated variables are ignored: the stratum of a fact follows from its constants alone, which is
    what a backend can determine from the fact (docs/decisions/0008).
    """
    if first.predicate != second.predicate or first.arity != second.arity:
        return False
    return all(
        left.term == right.term
        for left, right in zip(first.arguments, second.arguments, strict=True)
        if isinstance(left, Constant) and isinstance(right, Constant)
    )


def dependencies(rules: Sequence[Rule]) -> tuple[tuple[Dependency, ...], ...]:
    """Return the dependencies of each rule in normal form.

    Rules with equal heads share a stratum anyway, so a dependency on any of them points to the
    first, which depends on the others. This keeps the graph small when a disjunction expands to
    many rules.
    """
    first: dict[Atom, int] = {}
    by_shape: dict[tuple[str, int], list[Atom]] = defaultdict(list)
    equal: list[list[int]] = [[] for _ in rules]
    for index, rule in enumerate(rules):
        leader = first.setdefault(rule.head, index)
        if leader == index:
            by_shape[rule.head.predicate, rule.head.arity].append(rule.head)
        else:
            equal[leader].append(index)
    return tuple(
        (
            *(
                Dependency(index, first[head], through, atom)
                for atom, through in _needs(rule)
                for head in by_shape[atom.predicate, atom.arity]
                if (through is not Through.SAME_HEAD or first[head] != index)
                and unifies(atom, head)
            ),
            *(Dependency(index, other, Through.SAME_HEAD, rule.head) for other in equal[index]),
        )
        for index, rule in enumerate(rules)
    )


def _needs(rule: Rule) -> Iterator[tuple[Atom, Through]]:
    aggregated = aggregates_matches(rule.head)
    for literal in rule.body:
        match literal:
            case Atom(asserted=True) | Negation(Atom(asserted=True)):
                pass
            case Negation(Atom() as atom):
                yield atom, Through.NEGATION
            case Atom():
                yield literal, Through.AGGREGATE if aggregated else Through.ATOM
            case _:
                pass
    yield rule.head, Through.SAME_HEAD
