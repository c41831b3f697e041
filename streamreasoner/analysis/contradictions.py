"""Rules that never match. Invariant: a rule that is reported derives nothing, whatever the facts.

Found are a literal that never holds, and two that never hold together; not three or more.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from streamreasoner.analysis.kinds import kinds_of, kinds_of_variables
from streamreasoner.analysis.normal_form import normal_form
from streamreasoner.analysis.types import families
from streamreasoner.lang.ast import Atom, Call, Comparison, Constant, Negation, Wildcard
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.printer import print_literal
from streamreasoner.rdf.functions.order import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.lang.ast import Expression, Literal, Program
    from streamreasoner.lang.kinds import Kinds

# Results of `compare` with which an operator holds; None is that of values without an order.
_HOLDS: Mapping[str, frozenset[int | None]] = {
    "=": frozenset({0}),
    "!=": frozenset({-1, 1, None}),
    "<": frozenset({-1}),
    "<=": frozenset({-1, 0}),
    ">": frozenset({1}),
    ">=": frozenset({1, 0}),
}
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
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
    """Yield pairs that are about the same predicate, test or value, in the order of the text."""
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
            return any(_apart(one, two) for one in _readings(literal) for two in _readings(other))
        case _:
            return False


def _matches(negated: Atom, atom: Atom) -> bool:
    """Whether every fact that matches `atom` also matches `negated`."""
    return (negated.predicate, negated.arity) == (atom.predicate, atom.arity) and all(
        isinstance(wanted, Wildcard) or (wanted == given and not isinstance(given, Wildcard))
        for wanted, given in zip(negated.arguments, atom.arguments, strict=True)
    )


def _readings(comparison: Comparison) -> tuple[tuple[Expression, str, Expression], ...]:
    """Return a comparison from left to right and from right to left."""
    left, operator, right = comparison.left, comparison.operator, comparison.right
    return (left, operator, right), (right, _TURNED[operator], left)


def _apart(
    one: tuple[Expression, str, Expression], other: tuple[Expression, str, Expression]
) -> bool:
    """Whether no value satisfies both, where they are about one expression."""
    (subject, first, limit), (same, second, bound) = one, other
    if subject != same:
        return False
    if limit == bound:
        order: int | None = 0
    elif isinstance(limit, Constant) and isinstance(bound, Constant):
        order = compare(limit.term, bound.term)
    else:
        return False
    if order is None:
        return "!=" not in (first, second)
    if order == 0:
        return not _HOLDS[first] & _HOLDS[second]
    lower, upper = (first, second) if order < 0 else (second, first)
    return lower in _AT_MOST and upper in _AT_LEAST
