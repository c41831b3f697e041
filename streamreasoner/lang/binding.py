"""How rules bind variables. Invariant: an assignment reads only variables bound before it.

A variable is bound by a positive atom that has it as an argument, or in the pattern of a triple
term, or by an equality whose other side is bound: `path(?x, ?d), ?e = ?d + 1` binds ?x, ?d and ?e.
All other literals are filters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Atom, Comparison, TripleTerm, Variable, Wildcard
from streamreasoner.lang.traversal import variables, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from streamreasoner.lang.ast import Expression, Literal, Rule


@dataclass(frozen=True, slots=True)
class Bindings:
    """The body of a rule in normal form, without its positive atoms.

    Attributes:
        assignments: Variable names and their expressions, ordered so that each reads only variables
            of positive atoms and of earlier assignments.
        filters: The other literals (Comparison, Negation, Call), in textual order.
    """

    assignments: tuple[tuple[str, Expression], ...]
    filters: tuple[Literal, ...]


def bindings(rule: Rule) -> Bindings:
    """Separate the assignments of a rule in normal form from its filters.

    Repeatedly, the first equality in textual order that can bind a variable becomes an assignment.
    In an unsafe rule, equalities that bind nothing end up among the filters.
    """
    bound = set(bound_by_atoms(rule))
    rest = [literal for literal in rule.body if not isinstance(literal, Atom)]
    assignments: list[tuple[str, Expression]] = []
    while (assignment := _first(rest, bound)) is not None:
        index, name, expression = assignment
        del rest[index]
        bound.add(name)
        assignments.append((name, expression))
    return Bindings(tuple(assignments), tuple(rest))


def bound_by_atoms(rule: Rule) -> frozenset[str]:
    """Return the variables that positive atoms bind: `edge(?x, ?y + 1)` binds ?x alone."""
    return frozenset(name for atom in rule.atoms for name in bound_by(atom))


def bound_by(atom: Atom) -> Iterator[str]:
    """Yield the variables that a positive atom binds, as often as it has them."""
    for argument in atom.arguments:
        yield from pattern_variables(argument)


def pattern_variables(argument: Expression) -> Iterator[str]:
    """Yield the variables that an argument of a positive atom binds, in textual order."""
    match argument:
        case Variable(name):
            yield name
        case TripleTerm():
            for part in argument.parts:
                yield from pattern_variables(part)
        case _:
            pass


def is_bound(node: Expression | Literal, bound: Collection[str]) -> bool:
    """Whether all variables of a node are bound."""
    return all(variable.name in bound for variable in variables(node))


def is_known(expression: Expression, bound: Collection[str]) -> bool:
    """Whether all variables of an expression are bound, and no part of it is a wildcard."""
    return is_bound(expression, bound) and not any(
        isinstance(each, Wildcard) for each in walk(expression)
    )


def definitions(literal: Literal, bound: Collection[str]) -> Iterator[tuple[str, Expression]]:
    """Yield the unbound variables an equality defines: `?x = ?y + 1` defines ?x as `?y + 1`."""
    if isinstance(literal, Comparison) and literal.operator == "=":
        for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if isinstance(side, Variable) and side.name not in bound:
                yield side.name, other


def _first(
    literals: Sequence[Literal], bound: Collection[str]
) -> tuple[int, str, Expression] | None:
    for index, literal in enumerate(literals):
        for name, expression in definitions(literal, bound):
            if is_bound(expression, bound):
                return index, name, expression
    return None
