"""Evaluate expressions and literals under bindings. Invariant: values equal those of the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from streamreasoner.explain.proof import Absent, Satisfied
from streamreasoner.facts import Fact
from streamreasoner.lang import ast, traversal
from streamreasoner.lang.binding import is_known
from streamreasoner.lang.constants import triple_term
from streamreasoner.plan.expressions import application
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.triple_terms import components
from streamreasoner.values.formula import compute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Bindings = Mapping[str, str]


def atom_of(fact: Fact) -> ast.Atom:
    """The fact as an atom."""
    return ast.Atom(
        fact.predicate,
        tuple(ast.Constant(term, ast.NOWHERE) for term in fact.arguments),
        ast.NOWHERE,
    )


def fact_of(atom: ast.Atom) -> Fact:
    """The fact that an atom of constants is."""
    return Fact(atom.predicate, values(atom.arguments, {}) or ())


def value(expression: ast.Expression, bindings: Bindings) -> str | None:
    """The value of an expression as a term; None if it has none."""
    match expression:
        case ast.Constant(term):
            return term
        case ast.Variable(name):
            return bindings[name]
        case _:
            function, arguments = application(expression)
            terms = values(arguments, bindings)
            return None if terms is None else compute(function, terms)


def values(expressions: Iterable[ast.Expression], bindings: Bindings) -> tuple[str, ...] | None:
    """The values of expressions; None if one has none."""
    found = [value(expression, bindings) for expression in expressions]
    known = tuple(term for term in found if term is not None)
    return known if len(known) == len(found) else None


def ground(node: ast.Node, bindings: Bindings) -> ast.Node:
    """The node with bound variables replaced by constants."""
    if isinstance(node, ast.Variable) and node.name in bindings:
        return cast("ast.Node", ast.Constant(bindings[node.name], ast.NOWHERE))
    return traversal.changed(node, lambda each: ground(each, bindings))


def computed(expression: ast.Expression, bindings: Bindings) -> Iterator[ast.Comparison]:
    """`3 + 4 = 7` for a bound expression that has a value; nothing for a plain term."""
    if is_known(expression, bindings):
        grounded, term = ground(expression, bindings), value(expression, bindings)
        if term is not None and not isinstance(grounded, ast.Constant):
            result = ast.Constant(term, ast.NOWHERE)
            yield ast.Comparison(grounded, "=", result, ast.NOWHERE)


def conditions(literal: ast.Literal, bindings: Bindings) -> tuple[ast.Literal, ...]:
    """The values of the expressions in a literal, then the literal of these values.

    `?a + ?b > 5` yields `3 + 4 = 7` and `7 > 5`. An equation between a value and a term is yielded
    once.
    """
    inner = literal.atom if isinstance(literal, ast.Negation) else literal
    expressions = cast("tuple[ast.Expression, ...]", traversal.children(inner))
    equations = [each for child in expressions for each in computed(child, bindings)]
    match _valued(literal, bindings):
        case ast.Comparison(left, "=", right) if left == right and len(equations) == 1:
            return (*equations,)
        case last:
            return (*equations, last)


def premises(literal: ast.Literal, bindings: Bindings) -> Iterator[Absent | Satisfied]:
    """What a literal that holds adds to a proof; no positive atoms."""
    *before, last = conditions(literal, bindings)
    yield from map(Satisfied, before)
    match last:
        case ast.Negation(ast.Atom() as atom):
            yield Absent(atom)
        case _:
            yield Satisfied(last)


def fits(atom: ast.Atom, terms: Iterable[str]) -> bool:
    """Whether the terms of a fact have those of a ground atom, those within triple terms too."""
    return all(map(_fits, atom.arguments, terms))


def _fits(argument: ast.Expression, term: str) -> bool:
    match argument:
        case ast.Constant(own):
            return own == term
        case ast.TripleTerm():
            return is_triple_term(term) and all(map(_fits, argument.parts, components(term)))
        case _:
            return True


def _valued(literal: ast.Node, bindings: Bindings) -> ast.Node:
    """A literal with bound expressions replaced by their values, if they have one."""

    def change(argument: ast.Expression) -> ast.Expression:
        if isinstance(argument, ast.TripleTerm):
            # Of a pattern, a part may be open.
            return triple_term(map(change, argument.parts), argument.span)
        if not is_known(argument, bindings):
            return argument
        term = value(argument, bindings)
        return argument if term is None else ast.Constant(term, ast.NOWHERE)

    if isinstance(literal, ast.Negation):
        return replace(literal, atom=_valued(literal.atom, bindings))
    return traversal.changed(literal, change)
