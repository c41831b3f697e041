"""Rules that never match. Invariant: a reported rule derives nothing, whatever the facts.

Detects single literals that never hold and pairs that never hold together, not larger sets.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from streamreasoner.analysis.expression_kinds import kinds_of, kinds_of_variables
from streamreasoner.analysis.types import families
from streamreasoner.lang.ast import Atom, Call, Comparison, Constant, Negation, Wildcard
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.normal_form import normal_form
from streamreasoner.lang.printer import print_literal
from streamreasoner.values.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.lang.ast import Expression, Literal, Program
    from streamreasoner.values.kinds import Kinds

# Results of `compare` for which an operator holds; None: the values have no order.
_HOLDS: Mapping[str, frozenset[int | None]] = {
    "=": frozenset({0}),
    "!=": frozenset({-1, 1, None}),
    "<": frozenset({-1}),
    "<=": frozenset({-1, 0}),
    ">": frozenset({1}),
    ">=": frozenset({1, 0}),
}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_AT_MOST = frozenset({"=", "<", "<="})
_AT_LEAST = frozenset({"=", ">", ">="})


def contradictions(program: Program) -> Iterator[Diagnostic]:
    """Report literals that never hold, on their own or together with another of the body."""
    for rule in program.rules:
        for part in normal_form(rule):
            known = kinds_of_variables(part)
            for literal in part.body:
                if isinstance(literal, Comparison) and _never(literal, known):
                    message = f"`{print_literal(literal, program.prefixes)}` never holds"
                    hint = "the rule derives nothing; correct the comparison or remove it"
                    yield Diagnostic("SR506", message, literal.span, hint)
            for earlier, later in _comparable(part.body):
                if _exclude(earlier, later) or _exclude(later, earlier):
                    other = print_literal(earlier, program.prefixes)
                    message = f"this never holds together with `{other}`"
                    hint = "the rule derives nothing; correct or remove one of the two"
                    yield Diagnostic("SR506", message, later.span, hint)


def _comparable(body: Sequence[Literal]) -> Iterator[tuple[Literal, Literal]]:
    """Yield pairs about the same predicate, test or value, in textual order."""
    groups: dict[object, list[Literal]] = {}
    for literal in body:
        for subject in _subjects(literal):
            groups.setdefault(subject, []).append(literal)
    for group in groups.values():
        yield from combinations(group, 2)


def _subjects(literal: Literal) -> tuple[object, ...]:
    match literal:
        case Atom(predicate) | Negation(Atom(predicate)):
            return (predicate,)
        case Call(function) | Negation(Call(function)):
            return (function,)
        case Comparison(left, _, right):
            return (left,) if left == right else (left, right)
        case _:
            return ()


def _never(comparison: Comparison, known: Mapping[str, Kinds]) -> bool:
    match comparison:
        case Comparison(Constant(left), operator, Constant(right)):
            return compare(left, right) not in _HOLDS[operator]
        case Comparison(left, operator, right) if left == right:
            return 0 not in _HOLDS[operator]
        case Comparison(left, "=", right):
            return not families(kinds_of(left, known)) & families(kinds_of(right, known))
        case _:
            return False


def _exclude(literal: Literal, other: Literal) -> bool:
    match literal, other:
        case Atom(), Negation(Atom() as negated):
            return _matches(negated, literal)
        case Call(), Negation(Call() as negated):
            return negated == literal
        case Comparison(), Comparison():
            return any(
                _disjoint(first, second)
                for first in _orientations(literal)
                for second in _orientations(other)
            )
        case _:
            return False


def _matches(negated: Atom, atom: Atom) -> bool:
    """Whether every fact that matches `atom` also matches `negated`."""
    return (negated.reads, negated.arity) == (atom.reads, atom.arity) and all(
        isinstance(left, Wildcard) or left == right
        for left, right in zip(negated.arguments, atom.arguments, strict=True)
    )


def _orientations(comparison: Comparison) -> tuple[tuple[Expression, str, Expression], ...]:
    """Return a comparison from left to right and from right to left."""
    left, operator, right = comparison.left, comparison.operator, comparison.right
    return (left, operator, right), (right, _MIRRORED[operator], left)


def _disjoint(
    first: tuple[Expression, str, Expression], second: tuple[Expression, str, Expression]
) -> bool:
    """Whether two comparisons with one left side exclude each other for every value."""
    (subject, first_operator, limit), (other_subject, second_operator, bound) = first, second
    if subject != other_subject:
        return False
    if limit == bound:
        order: int | None = 0
    elif isinstance(limit, Constant) and isinstance(bound, Constant):
        order = compare(limit.term, bound.term)
    else:
        return False
    if order is None:
        return "!=" not in (first_operator, second_operator)
    if order == 0:
        return not _HOLDS[first_operator] & _HOLDS[second_operator]
    lower, upper = (
        (first_operator, second_operator) if order < 0 else (second_operator, first_operator)
    )
    return lower in _AT_MOST and upper in _AT_LEAST
