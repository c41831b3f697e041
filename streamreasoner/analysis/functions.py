"""Use of the built-ins. Invariant: in a checked program each stands where it is allowed."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import (
    Aggregate,
    Atom,
    Call,
    Conditional,
    Constant,
    Disjunction,
    Negation,
)
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.traversal import children
from streamreasoner.values.builtins import AGGREGATES, FUNCTIONS, MAX_ARGUMENTS, NAMES, TESTS
from streamreasoner.values.functions.integers import whole
from streamreasoner.values.literal import string
from streamreasoner.values.sums import CHOOSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Expression, Literal, Program
    from streamreasoner.values.builtins import Signature


def misused_builtins(program: Program) -> Iterator[Diagnostic]:
    """Report built-ins that are unknown, misplaced or have the wrong number of arguments."""
    for rule in program.rules:
        for head in rule.heads:
            yield from _reserved(head)
            for argument in head.arguments:
                yield from _expression(argument, aggregates=True)
        for literal in rule.body:
            yield from _literal(literal)


def _literal(literal: Literal) -> Iterator[Diagnostic]:
    match literal:
        case Call(name, arguments):
            yield from _count(literal, TESTS[name], len(arguments))
        case Negation() | Disjunction():
            for child in children(literal):
                yield from _literal(child)  # type: ignore[arg-type]
            return
        case _:
            pass
    for argument in children(literal):
        yield from _expression(argument, aggregates=False)  # type: ignore[arg-type]


def _expression(expression: Expression, *, aggregates: bool) -> Iterator[Diagnostic]:
    for node in _expressions(expression):
        match node:
            case Conditional(condition):
                for literal in condition:
                    yield from _literal(literal)
            case Call(name, arguments):
                yield from _call(node, name, len(arguments))
            case Aggregate(name, arguments, distinct=distinct):
                if not aggregates or node is not expression:
                    yield Diagnostic(
                        "SR233",
                        f"aggregate '{name}' is not an argument of a head on its own",
                        node.span,
                        "derive the aggregate into a predicate of its own and use that",
                    )
                elif name not in AGGREGATES:
                    yield _unknown(node, name)
                elif distinct and name != "count":
                    message = f"'{name}' takes no `distinct`; only count does"
                    hint = "derive the values into a predicate, which is a set, and aggregate that"
                    yield Diagnostic("SR233", message, node.span, hint)
                elif not AGGREGATES[name].accepts(len(arguments)):
                    yield from _count(node, AGGREGATES[name], len(arguments))
                else:
                    yield from _parameters(node)
            case _:
                pass


def _parameters(node: Aggregate) -> Iterator[Diagnostic]:
    """Report what an aggregate is told besides its operand, if it cannot be told so."""
    for each in node.parameters:
        if node.function in CHOOSING:
            is_known = isinstance(each, Constant) and (whole(each.term) or 0) > 0
            wanted, example = "a positive integer", f"{node.function}(?x, 3)"
        else:
            parsed = string(each.term) if isinstance(each, Constant) else None
            is_known = parsed is not None and parsed.language is None
            wanted, example = "a string", f'{node.function}(?x, ", ")'
        if not is_known:
            message = f"the second argument of '{node.function}' is not {wanted}"
            yield Diagnostic("SR237", message, each.span, f"write a constant: `{example}`")


def _expressions(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and those in it, in textual order, without those of conditions."""
    yield expression
    below = children(expression)
    if isinstance(expression, Conditional):
        below = (expression.then, expression.otherwise)
    for child in below:
        yield from _expressions(child)  # type: ignore[arg-type]


def _call(call: Call, name: str, count: int) -> Iterator[Diagnostic]:
    if name in FUNCTIONS:
        yield from _count(call, FUNCTIONS[name], count)
    elif name in TESTS:
        hint = f"write it as a literal of the body: `…, {name}(…), …`"
        yield Diagnostic("SR232", f"test '{name}' is not a value", call.span, hint)
    else:
        yield _unknown(call, name)


def _unknown(node: Call | Aggregate, name: str) -> Diagnostic:
    close = get_close_matches(name.lower(), NAMES, 1)
    known = ", ".join(sorted(NAMES - frozenset(TESTS)))
    hint = f"did you mean '{close[0]}'?" if close else f"the functions are {known}"
    return Diagnostic("SR230", f"unknown function '{name}'", node.span, hint)


def _count(node: Call | Aggregate, builtin: Signature, count: int) -> Iterator[Diagnostic]:
    if not builtin.accepts(count):
        message = f"'{node.function}' takes {builtin}, found {count}"
        hint = f"write `{node.function}({', '.join('…' * builtin.min_args)})`"
        if count > MAX_ARGUMENTS:
            hint = f"nest calls: `{node.function}({node.function}(…), …)`"
        yield Diagnostic("SR231", message, node.span, hint)


def _reserved(head: Atom) -> Iterator[Diagnostic]:
    if head.predicate in TESTS:
        message = f"'{head.predicate}' is a built-in test and cannot be derived"
        yield Diagnostic("SR232", message, head.span, "give the predicate another name")
