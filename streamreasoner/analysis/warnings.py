"""Legal constructs that are probably mistakes. Invariant: a warning never refuses a program."""

from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from typing import TYPE_CHECKING

from streamreasoner.analysis.expiry import expiries
from streamreasoner.lang import ast, traversal
from streamreasoner.lang.binding import bindings
from streamreasoner.lang.diagnostic import Diagnostic, line_of
from streamreasoner.lang.directives import declared
from streamreasoner.lang.normal_form import normal_form
from streamreasoner.lang.printer import print_expression, print_literal
from streamreasoner.values.builtins import FUNCTIONS, TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_CLOSE = 0.75
# Programs with more names are generated, and comparing all pairs would take too long.
_MAX_COMPARED = 300
_BY_VALUE = "`=` is evaluated for every pair; to join, substitute one side for the other"
_DIGITS = re.compile(r"[0-9]")


def single_use(program: ast.Program) -> Iterator[Diagnostic]:
    """Report variables that occur once in their rule; names that begin with `_` are exempt."""
    for rule in program.rules:
        if traversal.has_new_nodes(rule):
            # Each variable tells apart the solutions that have a node.
            continue
        occurrences = [
            item for part in (*rule.heads, *rule.body) for item in traversal.variables(part)
        ]
        uses = Counter(variable.name for variable in occurrences)
        for variable in occurrences:
            if uses[variable.name] > 1 or variable.name.startswith("_"):
                continue
            close = get_close_matches(variable.name, sorted(uses.keys() - {variable.name}), 1)
            hint = "write `_` if any value will do, or check the spelling"
            if close:
                hint = f"did you mean '?{close[0]}'? If not, {hint}"
            message = f"variable '?{variable.name}' occurs once in its rule"
            yield Diagnostic("SR501", message, variable.span, hint)


def misspelt(programs: Sequence[ast.Program]) -> Iterator[Diagnostic]:
    """Report undefined predicates whose names resemble another predicate, a test or a function."""
    rules = [rule for program in programs for rule in program.rules]
    defined = {head.predicate for rule in rules for head in rule.heads}
    defined |= {item.predicate for item in declared(programs, ast.Input)}
    defined |= {item.pattern.predicate for item in expiries(programs)}
    known = defined | ast.ARITIES.keys()
    used: dict[str, list[ast.Atom]] = {}
    for rule in rules:
        for atom in _atoms(rule):
            if atom.predicate not in known:
                used.setdefault(atom.predicate, []).append(atom)
    shapes = {_shape(name): name for name in sorted(defined | TESTS.keys())}
    if len(shapes.keys() | {_shape(name) for name in used}) > _MAX_COMPARED:
        return
    # Of two undefined names, the one with more uses is assumed to be right.
    for predicate in sorted(used, key=lambda name: -len(used[name])):
        hint = _meant(predicate, shapes)
        shapes.setdefault(_shape(predicate), predicate)
        if hint is not None:
            atom = used[predicate][0]
            message = f"no rule derives '{predicate}', and it is not declared as input"
            hint += f" If not, declare it: @input {predicate}/{atom.arity} ."
            yield Diagnostic("SR502", message, atom.span, hint)


def cartesian_products(program: ast.Program) -> Iterator[Diagnostic]:
    """Report positive atoms that share no variable with the atoms before them."""
    prefixes = program.prefixes
    for rule in program.rules:
        for part in normal_form(rule):
            groups = _groups(part)
            for atom in groups[1:]:
                first = print_literal(groups[0], prefixes)
                message = f"this atom and {first} share no variable: a cartesian product"
                hint = "join them on a variable, or move one into a separate rule"
                if any(_equates(literal) for literal in bindings(part).filters):
                    hint = _BY_VALUE
                yield Diagnostic("SR503", message, atom.span, hint)


def quotients_in_atoms(program: ast.Program) -> Iterator[Diagnostic]:
    """Report decimals that atoms look up, as a whole number is usually written as an integer."""
    for rule in program.rules:
        for atom in _atoms(rule):
            for argument in atom.arguments:
                if _is_quotient(argument):
                    text = print_expression(argument, program.prefixes)
                    message = f"`{text}` is a decimal, and as a term no integer, such as 2"
                    hint = (
                        f"write `canonical({text})` to find whole numbers as integers, or quotient"
                        f" for `/`; an equality compares values: `{atom.predicate}(…, ?v),"
                        f" ?v = {text}`"
                    )
                    yield Diagnostic("SR507", message, argument.span, hint)


def duplicates(programs: Sequence[ast.Program]) -> Iterator[Diagnostic]:
    """Report rules and facts that are equal to an earlier one."""
    first: dict[ast.Rule, ast.Rule] = {}
    for rule in (rule for program in programs for rule in program.rules):
        earlier = first.setdefault(rule, rule)
        if earlier is not rule:
            kind = "rule" if rule.body else "fact"
            message = f"this {kind} repeats {line_of(earlier.span, rule.span)}"
            yield Diagnostic("SR504", message, rule.span, "remove one of the two")


def unused(programs: Sequence[ast.Program]) -> Iterator[Diagnostic]:
    """Report predicates of the first program that are neither output nor used by another."""
    published = {item.predicate for item in declared(programs, ast.Output)}
    if not published:
        return
    needed = {
        atom.predicate
        for program in programs
        for rule in program.rules
        for atom in _atoms(rule)
        if any(atom.predicate != head.predicate for head in rule.heads)
    }
    reported = published | needed
    for rule in programs[0].rules:
        for head in rule.heads:
            if head.violation or head.predicate in reported:
                continue
            reported.add(head.predicate)
            message = (
                f"'{head.predicate}' is derived, but no other predicate and no @output needs it"
            )
            hint = f"use it, remove it, or publish it: @output {head.predicate} ."
            yield Diagnostic("SR505", message, head.span, hint)


def _is_quotient(expression: ast.Expression) -> bool:
    """Whether a value comes from `/`, and is a decimal if its operands are exact."""
    match expression:
        case ast.BinaryOperation(operator, left, right):
            return operator == "/" or _is_quotient(left) or _is_quotient(right)
        case ast.UnaryMinus(operand) | ast.Call("abs" | "floor" | "ceil" | "round", (operand,)):
            return _is_quotient(operand)
        case _:
            return False


def _meant(predicate: str, shapes: Mapping[str, str]) -> str | None:
    """Suggest what a predicate may have meant; `shapes` maps shapes to known names."""
    if predicate in FUNCTIONS:
        return f"did you mean the function, as in `?v = {predicate}(…)`?"
    shape = _shape(predicate)
    close = get_close_matches(shape, sorted(shapes.keys() - {shape}), 1, _CLOSE)
    return f"did you mean '{shapes[close[0]]}'?" if close else None


def _shape(name: str) -> str:
    """Return a name without its digits: names that differ only in digits form a series."""
    return _DIGITS.sub("", name)


def _atoms(rule: ast.Rule) -> Iterator[ast.Atom]:
    """Yield the atoms of a body, including negated ones and those in disjunctions."""
    for literal in rule.body:
        for node in traversal.walk(literal):
            if isinstance(node, ast.Atom):
                yield node


def _equates(literal: ast.Literal) -> bool:
    match literal:
        case ast.Comparison(left, "=", right):
            return any(traversal.variables(left)) and any(traversal.variables(right))
        case _:
            return False


def _groups(rule: ast.Rule) -> list[ast.Atom]:
    """Return the first atom of each group of atoms that are connected by variables.

    An atom with an expression joins on its value, so it is connected to the atoms that bind the
    variables of the expression, directly or through assignments.
    """
    sources: dict[str, frozenset[str]] = {}
    for name, expression in bindings(rule).assignments:
        used = (variable.name for variable in traversal.variables(expression))
        sources[name] = frozenset().union(*(sources.get(variable, {variable}) for variable in used))
    groups: list[tuple[ast.Atom, frozenset[str]]] = []
    for atom in rule.atoms:
        names = frozenset(
            source
            for variable in traversal.variables(atom)
            for source in sources.get(variable.name, {variable.name})
        )
        # A ground atom is a condition, not a factor of the product.
        if not names and not any(isinstance(item, ast.Wildcard) for item in atom.arguments):
            continue
        joined = [group for group in groups if group[1] & names]
        merged = (joined[0][0] if joined else atom, names.union(*(group[1] for group in joined)))
        groups = [group for group in groups if not group[1] & names]
        groups.append(merged)
    return sorted((group[0] for group in groups), key=lambda atom: atom.span.start)
