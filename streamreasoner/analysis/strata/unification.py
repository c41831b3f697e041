"""Whether expressions may be one term. Invariant: what is not known may be any term."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.lang import ast
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.triple_terms import components

if TYPE_CHECKING:
    from collections.abc import Sequence

_Sided: TypeAlias = "tuple[int, ast.Expression]"
"""An expression with the side that its variables belong to."""


def agree(first: ast.Expression, second: ast.Expression) -> bool:
    """Whether two expressions may be one term: constants are compared, those of triple terms too.

    Other triple terms are compared part by part; repeated variables are ignored.
    """
    match _opened(first), _opened(second):
        case ast.TripleTerm() as one, ast.TripleTerm() as other:
            return all(map(agree, one.parts, other.parts))
        case (ast.TripleTerm() | ast.Constant()) as one, (
            ast.TripleTerm() | ast.Constant()
        ) as other:
            return one == other
        case _:
            return True


def have_an_instance(first: ast.Atom, second: ast.Atom) -> bool:
    """Whether a fact may match both atoms, whose variables are not shared, repeated ones included.

    What is computed may be any term.
    """
    if first.predicate != second.predicate or first.arity != second.arity:
        return False
    return _Unifier().all(first.arguments, second.arguments)


@dataclass(slots=True)
class _Unifier:
    known: dict[tuple[int, str], _Sided] = field(default_factory=dict)

    def all(self, first: Sequence[ast.Expression], second: Sequence[ast.Expression]) -> bool:
        """Whether expressions of two sides can be the same terms, pair by pair."""
        pairs = zip(first, second, strict=True)
        return all(self._one((0, left), (1, right)) for left, right in pairs)

    def _one(self, first: _Sided, second: _Sided) -> bool:
        (side, left), (other, right) = self._resolved(first), self._resolved(second)
        match left, right:
            case ast.Variable(name), ast.Variable(name_) if (side, name) == (other, name_):
                return True
            case ast.Variable(name), _:
                return self._bind((side, name), (other, right))
            case _, ast.Variable(name):
                return self._bind((other, name), (side, left))
            case ast.TripleTerm(), ast.TripleTerm():
                parts = zip(left.parts, right.parts, strict=True)
                return all(self._one((side, one), (other, two)) for one, two in parts)
            case ((ast.TripleTerm() | ast.Constant()), (ast.TripleTerm() | ast.Constant())):
                return left == right
            case _:
                return True

    def _bind(self, variable: tuple[int, str], value: _Sided) -> bool:
        if isinstance(value[1], ast.TripleTerm) and self._occurs(variable, value):
            return False
        self.known[variable] = value
        return True

    def _occurs(self, variable: tuple[int, str], value: _Sided) -> bool:
        """Whether a term has a variable as a part, which no finite term can be."""
        side, term = self._resolved(value)
        match term:
            case ast.Variable(name):
                return (side, name) == variable
            case ast.TripleTerm():
                return any(self._occurs(variable, (side, part)) for part in term.parts)
            case _:
                return False

    def _resolved(self, value: _Sided) -> _Sided:
        side, expression = value
        while isinstance(expression, ast.Variable) and (side, expression.name) in self.known:
            side, expression = self.known[side, expression.name]
        return side, _opened(expression)


def _opened(expression: ast.Expression) -> ast.Expression:
    """A constant triple term as one of constants."""
    match expression:
        case ast.Constant(term, span) if is_triple_term(term):
            subject, predicate, value = (ast.Constant(part, span) for part in components(term))
            return ast.TripleTerm(subject, predicate, value, span)
        case _:
            return expression
