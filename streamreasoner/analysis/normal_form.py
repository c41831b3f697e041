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


def normal_form(rule: Rule) -> tuple[Rule, ...]:
    """Return one rule per head and choice of alternatives, each with the span of the original."""
    return tuple(
        Rule((head,), body, rule.span) for head in rule.heads for body in _conjunctions(rule.body)
    )


def too_large(program: Program) -> Iterator[Diagnostic]:
    """Report rules whose normal form is larger than `MOST_RULES`."""
    for rule in program.rules:
        size = len(rule.heads) * _size(rule.body)
        if size > MOST_RULES:
            yield Diagnostic(
                "SR206",
                f"the disjunctions of this rule stand for {size} rules, more than {MOST_RULES}",
                rule.span,
                "derive each disjunction into a predicate of its own",
            )


def _size(body: tuple[Literal, ...]) -> int:
    return prod(
        sum(_size(alternative) for alternative in literal.alternatives)
        for literal in body
        if isinstance(literal, Disjunction)
    )


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
