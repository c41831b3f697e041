"""Sizes of rules. Invariant: a rule that is not reported fits the kernels and plans in seconds."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from streamreasoner.lang import ast, limits, traversal
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.normal_form import is_small, normal_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_PARTS = "derive parts of the body into predicates of their own"


def beyond_limits(program: ast.Program) -> Iterator[Diagnostic]:
    """Report atoms, bodies and rules that are larger than `lang.limits` allows."""
    for directive in program.directives:
        if isinstance(directive, ast.Declaration):
            for signature in directive.signatures:
                if (signature.arity or 0) > limits.ARGUMENTS:
                    yield _wide(signature.predicate, signature.span)
        elif isinstance(directive, ast.Expires) and directive.pattern.arity > limits.ARGUMENTS:
            yield _wide(directive.pattern.predicate, directive.pattern.span)
        elif (
            isinstance(directive, ast.Message | ast.Columns)
            and directive.atom.arity > limits.ARGUMENTS
        ):
            yield _wide(directive.atom.predicate, directive.atom.span)
    for rule in program.rules:
        # Everything counted takes at least one character.
        is_long = rule.span.end - rule.span.start > min(limits.ATOMS, limits.VARIABLES)
        if is_long and is_small(rule):
            for part in normal_form(rule):
                yield from _beyond(part)


def _beyond(rule: ast.Rule) -> Iterator[Diagnostic]:
    atoms = [*filter(None, map(_atom, rule.body))]
    conditions = [literal for literal in rule.body if _atom(literal) is None]
    for atom in (rule.head, *atoms):
        if atom.arity > limits.ARGUMENTS:
            yield _wide(atom.predicate, atom.span)
    yield from _more(atoms, limits.ATOMS, "a body has at most {} atoms, and this is the next")
    yield from _more(
        conditions,
        limits.CONDITIONS,
        "a body has at most {} comparisons, assignments and tests, and this is the next",
    )
    yield from _more(
        _columns(rule, atoms),
        limits.VARIABLES,
        "a rule has at most {} variables and operations, and this is the next",
    )


def _atom(literal: ast.Literal) -> ast.Atom | None:
    match literal:
        case ast.Atom():
            return literal
        case ast.Negation(ast.Atom() as atom):
            return atom
        case _:
            return None


def _columns(rule: ast.Rule, atoms: Iterable[ast.Atom]) -> Iterator[ast.Expression]:
    """Yield the first occurrence of each column of a match: variables and computed values.

    A variable that occurs only once, in an atom, is a wildcard.
    """
    tests = {
        id(literal.atom if isinstance(literal, ast.Negation) else literal) for literal in rule.body
    }
    nodes = [
        node
        for literal in (rule.head, *rule.body)
        for node in traversal.walk(literal)
        if id(node) not in tests
    ]
    uses: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.Variable):
            uses[node.name] = uses.get(node.name, 0) + 1
    direct = {id(argument) for atom in atoms for argument in atom.arguments}
    seen: set[object] = set()
    for node in nodes:
        match node:
            case ast.Variable(name):
                is_value = uses[name] > 1 or id(node) not in direct
            case (
                ast.TripleTerm()
                | ast.BinaryOperation()
                | ast.UnaryMinus()
                | ast.Call()
                | ast.Aggregate()
            ):
                is_value = True
            case _:
                is_value = False
        if is_value and node not in seen:
            seen.add(node)
            yield node  # type: ignore[misc]  # every case that is a value is an expression


def _more(
    parts: Iterable[ast.Literal | ast.Expression], most: int, message: str
) -> Iterator[Diagnostic]:
    for part in islice(parts, most, most + 1):
        yield Diagnostic("SR208", message.format(most), part.span, _PARTS)


def _wide(predicate: str, span: ast.Span) -> Diagnostic:
    message = f"an atom has at most {limits.ARGUMENTS} arguments, and '{predicate}' has more"
    return Diagnostic("SR208", message, span, "split it into several predicates")
