"""Rules with one head and a conjunctive body. Invariant: derives what the rules of the text derive.

`p, q :- a, (b | c) .` is four rules: `p :- a, b`, `p :- a, c`, `q :- a, b` and `q :- a, c`.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Disjunction, Rule
from streamreasoner.lang.diagnostic import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Literal, Program

MOST_RULES = 1_000
"""How many rules one rule of the text may stand for."""

MOST_LITERALS = 20_000
"""How many literals these rules may have."""


def normal_form(rule: Rule) -> tuple[Rule, ...]:
    """Return one rule per head and choice of alternatives, each with the span of the original."""
    return tuple(
        Rule((head,), body, rule.span) for head in rule.heads for body in _conjunctions(rule.body)
    )


def is_small(rule: Rule) -> bool:
    """Whether the normal form of a rule is within the limits."""
    count, literals = _size(rule.body)
    heads = len(rule.heads)
    return heads * count <= MOST_RULES and heads * literals <= MOST_LITERALS


def too_large(program: Program) -> Iterator[Diagnostic]:
    """Report rules whose normal form is larger than `MOST_RULES` or `MOST_LITERALS`."""
    for rule in program.rules:
        if not is_small(rule):
            count, literals = (len(rule.heads) * each for each in _size(rule.body))
            found = (
                f"{count} rules, more than {MOST_RULES}"
                if count > MOST_RULES
                else f"rules of {literals} literals, more than {MOST_LITERALS}"
            )
            yield Diagnostic(
                "SR206",
                f"the heads and disjunctions of this rule stand for {found}",
                rule.span,
                "derive each disjunction into a predicate of its own",
            )


def _size(body: tuple[Literal, ...]) -> tuple[int, int]:
    """Return how many conjunctions a body stands for, and how many literals they have in all."""
    parts = [
        tuple(map(sum, zip(*map(_size, literal.alternatives), strict=True)))
        if isinstance(literal, Disjunction)
        else (1, 1)
        for literal in body
    ]
    count = prod(choices for choices, _ in parts)
    return count, sum(literals * count // choices for choices, literals in parts)


def _conjunctions(body: tuple[Literal, ...]) -> tuple[tuple[Literal, ...], ...]:
    choices = [
        tuple(each for alternative in literal.alternatives for each in _conjunctions(alternative))
        if isinstance(literal, Disjunction)
        else ((literal,),)
        for literal in body
    ]
    return tuple(
        tuple(literal for part in choice for literal in part) for choice in product(*choices)
    )
