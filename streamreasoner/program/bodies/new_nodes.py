"""New nodes in heads, by `skolem`. Invariant: a solution has the same nodes in every run.

`[?x, ex:has, blank("part")], [blank("part"), ex:size, ?n] :- thing(?x, ?n) .` becomes

    [?x, ex:has, skolem("1f2e.part", ?n, ?x)], [skolem("1f2e.part", ?n, ?x), ex:size, ?n] :- …

with a digest of the rule as it is written, and all variables that it names and a solution has: a
node for each solution, the same in all heads. Each alternative of a body becomes a rule, as it may
bind other variables.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.binding import bindings, bound_by_atoms
from streamreasoner.lang.constants import plain_value
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.normal_form import conjunctions, is_small
from streamreasoner.lang.printer import print_rule
from streamreasoner.rdf.term_kind import is_literal
from streamreasoner.rdf.terms import to_ntriples

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGITS = 12


def with_nodes(written: ast.Rule, plain: ast.Rule) -> tuple[ast.Rule, ...]:
    """The rules that a rule with new nodes stands for.

    Args:
        written: The rule as it is written, without a mistake about new nodes.
        plain: The same without braces.
    """
    if not is_small(plain):
        return (plain,)
    text = print_rule(replace(written, name=None))
    return tuple(_with_nodes(text, plain, body) for body in conjunctions(plain.body))


def _with_nodes(text: str, plain: ast.Rule, body: tuple[ast.Literal, ...]) -> ast.Rule:
    part = replace(plain, body=body)
    bound = bound_by_atoms(part) | {name for name, _ in bindings(part).assignments}
    # What braces are replaced by has names with a dot.
    names = sorted(name for name in bound if "." not in name)
    digest = hashlib.sha256(" ?".join((text, *names)).encode()).hexdigest()[:_DIGITS]
    return replace(part, heads=tuple(_named(head, digest, names) for head in plain.heads))


def misplaced_nodes(rule: ast.Rule) -> Iterator[Diagnostic]:
    """Report new nodes that are not in a head, or have no label."""
    hint = f'a node for each solution of the body is `{ast.NEW_NODE}("label")` in a head'
    for literal in rule.body:
        for node in traversal.new_nodes(literal):
            message = "a new node in a body"
            other = f"{hint}; `?n = skolem(…)` is a node of the terms that identify it"
            yield Diagnostic("SR238", message, node.span, other)
    for head in rule.heads:
        aggregated = any(isinstance(each, ast.Aggregate) for each in head.arguments)
        for node in traversal.new_nodes(head):
            if aggregated:
                message = "a new node in a head that aggregates, which has no solution of its own"
                other = "derive the aggregate into a predicate, and make the node of its facts"
                yield Diagnostic("SR238", message, node.span, other)
            elif not _is_labelled(node):
                message = f"the label of '{ast.NEW_NODE}' is not a string"
                yield Diagnostic("SR238", message, node.span, hint)


def _is_labelled(node: ast.Call) -> bool:
    match node.arguments:
        case (ast.Constant(term),):
            return is_literal(term)
        case _:
            return False


def _named(node: Any, digest: str, names: list[str]) -> Any:
    match node:
        case ast.Call(ast.NEW_NODE, (ast.Constant() as label,), span):
            text = to_ntriples(f"{digest}.{plain_value(label)}")
            variables = (ast.Variable(name, span) for name in names)
            return ast.Call("skolem", (ast.Constant(text, span), *variables), span)
        case _:
            return traversal.changed(node, lambda each: _named(each, digest, names))
