"""The arity of every predicate. Invariant: a checked program uses each predicate with one arity."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import TRIPLE, Atom, Input, Output, walk
from streamreasoner.lang.diagnostic import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Program, Signature, Span

TRIPLE_ARITY = 3


def arities(program: Program) -> dict[str, int]:
    """Return the arity each predicate has where it is used first; `triple` is always there."""
    found = {TRIPLE: TRIPLE_ARITY}
    for predicate, arity, _ in _uses(program):
        found.setdefault(predicate, arity)
    return found


def arity_clashes(program: Program) -> Iterator[Diagnostic]:
    """Report uses of a predicate with another arity than its first use."""
    first: dict[str, tuple[int, Span | None]] = {TRIPLE: (TRIPLE_ARITY, None)}
    for predicate, arity, span in _uses(program):
        expected, place = first.setdefault(predicate, (arity, span))
        if arity == expected:
            continue
        if place is None:
            yield Diagnostic(
                "SR210",
                f"a triple has 3 arguments, not {arity}",
                span,
                "write `[?s, ?p, ?o]`, with `_` where any term will do; a fact of a named graph is"
                " `quad(?s, ?p, ?o, ?g)`",
            )
        else:
            yield Diagnostic(
                "SR210",
                f"'{predicate}' has {_arguments(arity)} here and {expected} in line {place.line}",
                span,
                "a predicate has one arity; give one of the two another name",
            )


def unknown_signatures(program: Program) -> Iterator[Diagnostic]:
    """Report predicates that only a directive names, without their arity."""
    known = arities(program)
    for signature in _signatures(program):
        if signature.predicate not in known:
            close = get_close_matches(signature.predicate, known, 1)
            hint = f"did you mean '{close[0]}'? If not, " if close else ""
            yield Diagnostic(
                "SR211",
                f"no rule uses '{signature.predicate}', so its arity is not known",
                signature.span,
                f"{hint}declare an input that no rule uses with its arity:"
                f" @input {signature.predicate}/2 .",
            )


def _uses(program: Program) -> Iterator[tuple[str, int, Span]]:
    for signature in _signatures(program):
        if signature.arity is not None:
            yield signature.predicate, signature.arity, signature.span
    for rule in program.rules:
        for literal in (*rule.heads, *rule.body):
            for node in walk(literal):
                if isinstance(node, Atom):
                    yield node.predicate, node.arity, node.span


def _signatures(program: Program) -> Iterator[Signature]:
    for directive in program.directives:
        if isinstance(directive, Input | Output):
            yield from directive.signatures


def _arguments(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"
