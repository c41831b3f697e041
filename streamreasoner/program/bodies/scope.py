"""What is around the braces in a body. Invariant: a binder never reads what has braces.

A binder of a variable is a literal that gives it a value, with those that it needs itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.binding import bound_by, definitions

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Scope:
    """The surroundings of an aggregate or a negated conjunction.

    Attributes:
        outside: Names of the variables of the rule outside all braces.
        literals: Literals without braces that hold together with it, in textual order.
    """

    outside: frozenset[str]
    literals: tuple[ast.Literal, ...]

    def within(self, literals: Iterable[ast.Literal]) -> Scope:
        """The scope with more literals."""
        return replace(self, literals=tuple(dict.fromkeys((*self.literals, *literals))))

    def binders(self, names: Iterable[str]) -> tuple[ast.Literal, ...] | None:
        """The first literals that bind some variables; None if one is not bound."""
        chosen: dict[ast.Literal, None] = {}
        bound: set[str] = set()
        pending = sorted(names)
        while pending:
            name = pending.pop()
            if name in bound:
                continue
            literal = next((each for each in self.literals if _binds(each, name)), None)
            if literal is None:
                return None
            chosen[literal] = None
            bound.add(name)
            if isinstance(literal, ast.Atom):
                bound |= {*bound_by(literal)}
            read = {each.name for each in traversal.variables(literal)} - bound
            if isinstance(literal, ast.Disjunction):
                # Others are its own: an alternative may have variables that no literal shares.
                read = {each for each in read if self._others_bind(each, literal)}
            pending += sorted(read)
        return tuple(literal for literal in self.literals if literal in chosen)

    def _others_bind(self, name: str, literal: ast.Literal) -> bool:
        return any(_binds(each, name) for each in self.literals if each != literal)


def bound_by_atoms(body: tuple[ast.Literal, ...]) -> set[str]:
    """Names of the variables that atoms bind, whichever alternatives are chosen."""
    bound: set[str] = set()
    for literal in body:
        match literal:
            case ast.Atom():
                bound |= {*bound_by(literal)}
            case ast.Disjunction(alternatives):
                bound |= set.intersection(*map(bound_by_atoms, alternatives))
            case _:
                pass
    return bound


def has_atom(body: tuple[ast.Literal, ...]) -> bool:
    """Whether a body has a positive atom, whichever alternatives are chosen."""
    return any(
        isinstance(literal, ast.Atom)
        or (isinstance(literal, ast.Disjunction) and all(map(has_atom, literal.alternatives)))
        for literal in body
    )


def _binds(literal: ast.Literal, name: str) -> bool:
    """Whether a literal gives a variable a value, if all else that it reads has one."""
    match literal:
        case ast.Atom():
            return name in bound_by(literal)
        case ast.Comparison():
            return any(defined == name for defined, _ in definitions(literal, ()))
        case ast.Disjunction(alternatives):
            return all(any(_binds(each, name) for each in part) for part in alternatives)
        case _:
            return False
