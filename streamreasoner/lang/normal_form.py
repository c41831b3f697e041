"""Rules with one head and a conjunctive body. Invariant: they derive the same facts as the text.

`p, q :- a, (b | c) .` is four rules: `p :- a, b`, `p :- a, c`, `q :- a, b` and `q :- a, c`.

A head whose only aggregate is a min or max is a *lattice*: only the best of its facts that agree on
the other arguments is present. Every other combination of aggregates is computed once the strata
below are complete.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Aggregate, Disjunction, Rule
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.values.builtins import MONOTONE_AGGREGATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Atom, Expression, Literal, Program

MAX_RULES = 1_000
"""Maximum number of rules in normal form per rule of the text."""

MAX_LITERALS = 20_000
"""Maximum number of literals of these rules."""


def normal_form(rule: Rule) -> tuple[Rule, ...]:
    """Return one rule per head and choice of alternatives, each with the span of the original."""
    return tuple(
        Rule((head,), body, rule.span, rule.name)
        for head in rule.heads
        for body in conjunctions(rule.body)
    )


def is_small(rule: Rule) -> bool:
    """Whether the normal form of a rule is within the limits."""
    count, literals = _size(rule.body)
    heads = len(rule.heads)
    return heads * count <= MAX_RULES and heads * literals <= MAX_LITERALS


def too_large(program: Program) -> Iterator[Diagnostic]:
    """Report rules whose normal form is larger than `MAX_RULES` or `MAX_LITERALS`."""
    for rule in program.rules:
        if not is_small(rule):
            count, literals = (len(rule.heads) * size for size in _size(rule.body))
            excess = (
                f"{count} rules, more than {MAX_RULES}"
                if count > MAX_RULES
                else f"rules of {literals} literals, more than {MAX_LITERALS}"
            )
            yield Diagnostic(
                "SR206",
                f"the heads and disjunctions of this rule expand to {excess}",
                rule.span,
                "derive each disjunction into a predicate of its own",
            )


def _size(body: tuple[Literal, ...]) -> tuple[int, int]:
    """Return the number of conjunctions a body expands to, and their total number of literals."""
    parts = [
        tuple(map(sum, zip(*map(_size, literal.alternatives), strict=True)))
        if isinstance(literal, Disjunction)
        else (1, 1)
        for literal in body
    ]
    count = prod(choices for choices, _ in parts)
    return count, sum(literals * count // choices for choices, literals in parts)


def conjunctions(body: tuple[Literal, ...]) -> tuple[tuple[Literal, ...], ...]:
    """Return a body for each choice of alternatives."""
    choices = [
        tuple(
            conjunction
            for alternative in literal.alternatives
            for conjunction in conjunctions(alternative)
        )
        if isinstance(literal, Disjunction)
        else ((literal,),)
        for literal in body
    ]
    return tuple(
        tuple(literal for part in choice for literal in part) for choice in product(*choices)
    )


def aggregates(head: Atom) -> tuple[Aggregate, ...]:
    """Return the aggregates of a head, in the order of its arguments."""
    return tuple(item for item in head.arguments if isinstance(item, Aggregate))


def operand(argument: Expression) -> Expression:
    """Return the operand of an aggregate; any other head argument unchanged."""
    return argument.arguments[0] if isinstance(argument, Aggregate) else argument


def is_lattice(head: Atom) -> bool:
    """Whether a head chooses the best of its own facts, so that it may be recursive."""
    items = aggregates(head)
    return len(items) == 1 and items[0].function in MONOTONE_AGGREGATES


def aggregates_matches(head: Atom) -> bool:
    """Whether a head aggregates the matches of its rules; a lattice chooses one of its facts."""
    return bool(aggregates(head)) and not is_lattice(head)
