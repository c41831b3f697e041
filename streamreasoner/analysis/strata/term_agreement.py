"""Whether two expressions may be one term. Invariant: what is not known may be any term."""

from __future__ import annotations

from streamreasoner.lang import ast
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.triple_terms import components


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


def _opened(expression: ast.Expression) -> ast.Expression:
    """A constant triple term as one of constants."""
    match expression:
        case ast.Constant(term, span) if is_triple_term(term):
            subject, predicate, value = (ast.Constant(part, span) for part in components(term))
            return ast.TripleTerm(subject, predicate, value, span)
        case _:
            return expression
