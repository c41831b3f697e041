"""Checks of constraints and messages. Invariant: in a checked program violations are only derived.

A predicate is a constraint if its heads are marked with `!`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.diagnostic import Diagnostic, line_of, similar
from streamreasoner.lang.directives import declared, directives

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PLACEHOLDER = re.compile(r"\{\?([^\W\d]\w*)\}")
"""A placeholder of a message; the group is the name of its variable."""


def constraint_heads(programs: Sequence[ast.Program]) -> dict[str, ast.Atom]:
    """Return the first marked head of each constraint, in textual order."""
    heads: dict[str, ast.Atom] = {}
    for head in _heads(programs):
        if head.violation:
            heads.setdefault(head.predicate, head)
    return heads


def inconsistent_marks(programs: Sequence[ast.Program]) -> Iterator[Diagnostic]:
    """Report heads without `!` of predicates that have marked heads too."""
    marked = constraint_heads(programs)
    for head in _heads(programs):
        if not head.violation and head.predicate in marked:
            place = line_of(marked[head.predicate].span, head.span)
            yield Diagnostic(
                "SR212",
                f"'{head.predicate}' is a constraint in {place}, and has no `!` here",
                head.span,
                "mark every head of a constraint with `!`, or rename one of the two predicates",
            )


def asserted_violations(programs: Sequence[ast.Program]) -> Iterator[Diagnostic]:
    """Report constraints that would have facts of the input, or changes on the output topic."""
    marked = constraint_heads(programs)
    for program in programs:
        for rule in program.rules:
            for head in (head for head in rule.heads if head.violation):
                if head.predicate in ast.ARITIES:
                    message = f"'{head.predicate}' cannot be a constraint: it has asserted facts"
                    hint = "write the terms as arguments of a predicate, `!wrong(?s, ?o)`"
                    yield Diagnostic("SR213", message, head.span, hint)
                elif not rule.body:
                    message = f"a violation of '{head.predicate}' is asserted"
                    hint = "a violation is derived: `!late(?x) :- order(?x), not shipped(?x) .`"
                    yield Diagnostic("SR213", message, head.span, hint)
    for kind, hint in (
        (ast.Input, "derive it from an @input predicate of another name"),
        (ast.Output, "omit it: violations are published to a topic of their own"),
    ):
        for signature in declared(programs, kind):
            if signature.predicate in marked:
                message = f"'{signature.predicate}' is a constraint, not @{kind.__name__.lower()}"
                yield Diagnostic("SR213", message, signature.span, hint)


def violations_read_as_asserted(programs: Sequence[ast.Program]) -> Iterator[Diagnostic]:
    """Report atoms that only asserted facts match, of constraints, which have none."""
    marked = constraint_heads(programs)
    for rule in (rule for program in programs for rule in program.rules):
        for atom in traversal.asserted_atoms(rule):
            if atom.predicate in marked:
                message = f"'{atom.predicate}' is a constraint and has no asserted facts"
                hint = "omit `asserted`: the violations that are derived match"
                yield Diagnostic("SR213", message, atom.span, hint)


def wrong_messages(programs: Sequence[ast.Program]) -> Iterator[Diagnostic]:
    """Report messages without a constraint, a second one, and unknown placeholders."""
    marked = constraint_heads(programs)
    first: dict[str, ast.Message] = {}
    for message in directives(programs, ast.Message):
        atom = message.atom
        earlier = first.setdefault(atom.predicate, message)
        if atom.predicate not in marked:
            hint = similar(atom.predicate, marked)
            yield Diagnostic(
                "SR214",
                f"no rule derives violations of '{atom.predicate}'",
                atom.span,
                f"{hint}mark the heads of the constraint with `!`",
            )
        elif earlier != message:
            place = line_of(earlier.span, message.span)
            text = f"'{atom.predicate}' has another message in {place}"
            yield Diagnostic("SR214", text, message.span, "a constraint has one message")
        yield from _wrong_variables(message)


def _wrong_variables(message: ast.Message) -> Iterator[Diagnostic]:
    names: set[str] = set()
    for argument in message.atom.arguments:
        if isinstance(argument, ast.Variable) and argument.name not in names:
            names.add(argument.name)
        elif not isinstance(argument, ast.Wildcard):
            yield Diagnostic(
                "SR214",
                "an argument of a @message is a variable of its own",
                argument.span,
                "name each argument of the constraint, or write `_`",
            )
    for name in dict.fromkeys(PLACEHOLDER.findall(message.text)):
        if name not in names:
            listed = " and ".join(f"?{each}" for each in sorted(names)) or "none"
            text = f"the message has no argument '?{name}'"
            hint = f"its arguments are {listed}" if names else "name the arguments in the directive"
            yield Diagnostic("SR214", text, message.span, hint)


def _heads(programs: Sequence[ast.Program]) -> Iterator[ast.Atom]:
    for program in programs:
        for rule in program.rules:
            yield from rule.heads
