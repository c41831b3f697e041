"""What is legal and probably a mistake. Invariant: never refuses a program."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from typing import TYPE_CHECKING

from streamreasoner.analysis.normal_form import normal_form
from streamreasoner.lang.ast import TRIPLE, Atom, Input, Wildcard, variables, walk
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.printer import print_literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Program, Rule


def single_use(program: Program) -> Iterator[Diagnostic]:
    """Report variables that occur once in their rule; names that begin with `_` are exempt."""
    for rule in program.rules:
        found = [item for part in (*rule.heads, *rule.body) for item in variables(part)]
        uses = Counter(variable.name for variable in found)
        for variable in found:
            if uses[variable.name] == 1 and not variable.name.startswith("_"):
                message = f"variable '?{variable.name}' occurs once in its rule"
                hint = "write `_` if any value will do, or check its spelling"
                yield Diagnostic("SR501", message, variable.span, hint)


def misspelt(program: Program) -> Iterator[Diagnostic]:
    """Report predicates that nothing defines and whose name is close to another."""
    defined = {head.predicate for rule in program.rules for head in rule.heads}
    defined |= {
        signature.predicate
        for directive in program.directives
        if isinstance(directive, Input)
        for signature in directive.signatures
    }
    used: dict[str, Atom] = {}
    for rule in program.rules:
        for literal in rule.body:
            for node in walk(literal):
                if isinstance(node, Atom) and node.predicate not in defined | {TRIPLE}:
                    used.setdefault(node.predicate, node)
    for predicate, atom in used.items():
        close = get_close_matches(predicate, sorted((defined | set(used)) - {predicate}), 1, 0.75)
        if close:
            yield Diagnostic(
                "SR502",
                f"no rule derives '{predicate}', and it is not declared as input",
                atom.span,
                f"did you mean '{close[0]}'? If not, declare it: @input {predicate}/{atom.arity} .",
            )


def cartesian_products(program: Program) -> Iterator[Diagnostic]:
    """Report positive atoms that share no variable with the atoms before them."""
    for rule in program.rules:
        for part in normal_form(rule):
            groups = _groups(part)
            for atom in groups[1:]:
                first = print_literal(groups[0], program.prefixes)
                message = f"this atom and {first} share no variable: a cartesian product"
                hint = "join them on a variable, or move one into a rule of its own"
                yield Diagnostic("SR503", message, atom.span, hint)


def duplicates(program: Program) -> Iterator[Diagnostic]:
    """Report rules that are equal to an earlier one."""
    first: dict[Rule, Rule] = {}
    for rule in program.rules:
        earlier = first.setdefault(rule, rule)
        if earlier is not rule:
            message = f"the rule of line {earlier.span.line} again"
            yield Diagnostic("SR504", message, rule.span, "remove one of the two")


def _groups(rule: Rule) -> list[Atom]:
    """Return the first atom of each group of atoms that are connected by variables."""
    groups: list[tuple[Atom, set[str]]] = []
    for atom in rule.atoms:
        names = {variable.name for variable in variables(atom)}
        # A ground atom is a condition, not a factor.
        if not names and not any(isinstance(item, Wildcard) for item in atom.arguments):
            continue
        joined = [group for group in groups if group[1] & names]
        merged = (joined[0][0] if joined else atom, names.union(*(group[1] for group in joined)))
        groups = [group for group in groups if not group[1] & names]
        groups.append(merged)
    return sorted((group[0] for group in groups), key=lambda atom: atom.span.start)
