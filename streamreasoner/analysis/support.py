"""What the engine evaluates. Invariant: a checked program holds Atom and Comparison literals only.

Everything else of the language is read, checked and refused with an SR4xx diagnostic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import (
    Aggregate,
    BinaryOperation,
    Call,
    Import,
    Negation,
    UnaryMinus,
    children,
)
from streamreasoner.lang.builtins import NAMES
from streamreasoner.lang.diagnostic import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Expression, Literal, Program

_POSITIVE = "rules are positive: atoms, comparisons of variables and constants, disjunctions"
_FACTS = "send facts as input, or put them into a file that is loaded with the rules"


def unsupported(program: Program) -> Iterator[Diagnostic]:
    """Report what is correct but cannot be evaluated."""
    for directive in program.directives:
        if isinstance(directive, Import):
            hint = "copy the rules of the other file into this one"
            yield Diagnostic("SR406", "imports are not yet supported", directive.span, hint)
    for rule in program.rules:
        if not rule.body:
            message = "facts in rule files are not yet supported"
            yield Diagnostic("SR405", message, rule.span, _FACTS)
        for literal in (*rule.heads, *rule.body):
            yield from _node(literal)


def _node(node: Expression | Literal) -> Iterator[Diagnostic]:
    """Report the outermost construct of each kind, and what is below it if that is another."""
    match node:
        case Negation():
            yield Diagnostic("SR401", "negation is not yet supported", node.span, _POSITIVE)
        case BinaryOperation() | UnaryMinus():
            yield Diagnostic("SR402", "arithmetic is not yet supported", node.span, _POSITIVE)
            return
        case Call(function):
            # An unknown name is a mistake of its own, whatever is supported.
            if function in NAMES:
                message = f"built-in '{function}' is not yet supported"
                yield Diagnostic("SR403", message, node.span, _POSITIVE)
            return
        case Aggregate(function):
            message = f"aggregate '{function}' is not yet supported"
            yield Diagnostic("SR404", message, node.span, _POSITIVE)
            return
        case _:
            pass
    for child in children(node):
        yield from _node(child)
