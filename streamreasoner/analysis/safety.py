"""Safety. Invariant: in a checked program a positive body atom binds every variable of its rule.

So every rule has finitely many consequences, and no value is ever invented.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.analysis.normal_form import normal_form
from streamreasoner.lang.ast import Atom, Negation, Variable, Wildcard, variables, walk
from streamreasoner.lang.diagnostic import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Literal, Program, Rule


def unsafe(program: Program) -> Iterator[Diagnostic]:
    """Report variables that no positive atom binds, and wildcards that stand for no argument."""
    for rule in program.rules:
        for literal in (*rule.heads, *rule.body):
            yield from _wildcards(literal, in_head=literal in rule.heads)
        for part in normal_form(rule):
            yield from _unbound(part)


def _unbound(rule: Rule) -> Iterator[Diagnostic]:
    if not rule.body:
        for variable in variables(rule.head):
            yield Diagnostic(
                "SR205",
                f"variable '?{variable.name}' in a fact",
                variable.span,
                "a fact holds constants only; a rule has a body after `:-`",
            )
        return
    # Only an argument that is the variable itself is bound: `edge(?x, ?y + 1)` binds ?x.
    bound = {
        argument.name
        for atom in rule.atoms
        for argument in atom.arguments
        if isinstance(argument, Variable)
    }
    loose = [
        *_loose(rule.head, bound, "SR201", "of the head"),
        *(item for literal in rule.body for item in _loose(literal, bound, "SR202", "here")),
    ]
    yield from loose
    if not rule.atoms and not loose:
        yield Diagnostic(
            "SR204",
            "no positive atom in this body",
            rule.body[0].span,
            "add an atom to the body that says when the rule applies",
        )


def _loose(literal: Literal, bound: set[str], code: str, place: str) -> Iterator[Diagnostic]:
    for variable in variables(literal):
        if variable.name in bound:
            continue
        name = f"?{variable.name}"
        hint = f"add an atom with {name} to the body"
        if isinstance(literal, Negation):
            hint += ", or write `_` if any value will do"
        message = f"variable '{name}' {place} occurs in no positive atom of the body"
        yield Diagnostic(code, message, variable.span, hint)


def _wildcards(literal: Literal, *, in_head: bool) -> Iterator[Diagnostic]:
    legal = {
        id(argument)
        for node in walk(literal)
        if isinstance(node, Atom) and not in_head
        for argument in node.arguments
    }
    for node in walk(literal):
        if isinstance(node, Wildcard) and id(node) not in legal:
            place = "a head" if in_head else "a comparison, function or test"
            hint = "name the variable and bind it in an atom of the body"
            yield Diagnostic("SR203", f"wildcard `_` in {place} has no value", node.span, hint)
