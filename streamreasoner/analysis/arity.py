"""The arity of every predicate. Invariant: a checked program uses each predicate with one arity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.analysis.expiry import expiries
from streamreasoner.counts import counted
from streamreasoner.lang.ast import (
    ARITIES,
    TRIPLE,
    Atom,
    Declaration,
    Message,
)
from streamreasoner.lang.diagnostic import Diagnostic, line_of, similar
from streamreasoner.lang.directives import declared, directives
from streamreasoner.lang.traversal import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamreasoner.lang.ast import Program, Span

_BRACKETS = (
    "write `[?s, ?p, ?o]`, or `[?s, ?p, ?o, ?g]` in a graph, with `_` where any term matches"
)


def arities(programs: Sequence[Program], *more: str) -> dict[str, int]:
    """Return the arity of the first use of each predicate; `triple` and *more* are included."""
    result = {name: ARITIES[name] for name in (TRIPLE, *more)}
    for predicate, arity, _ in _uses(programs):
        result.setdefault(predicate, ARITIES.get(predicate, arity))
    return result


def arity_clashes(programs: Sequence[Program]) -> Iterator[Diagnostic]:
    """Report uses of a predicate whose arity differs from that of its first use."""
    first: dict[str, tuple[int, Span | None]] = {
        predicate: (arity, None) for predicate, arity in ARITIES.items()
    }
    for predicate, arity, span in _uses(programs):
        expected, place = first.setdefault(predicate, (arity, span))
        if arity == expected:
            continue
        if place is None:
            message = f"a {predicate} has {counted(expected, 'argument')}, not {arity}"
            yield Diagnostic("SR210", message, span, _BRACKETS)
        else:
            yield Diagnostic(
                "SR210",
                f"'{predicate}' has {counted(arity, 'argument')} here and {expected} in"
                f" {line_of(place, span)}",
                span,
                "a predicate has one arity; rename one of the two",
            )


def unknown_signatures(programs: Sequence[Program]) -> Iterator[Diagnostic]:
    """Report predicates that appear only in a directive, without an arity."""
    known = arities(programs)
    for signature in declared(programs, Declaration):
        if signature.predicate not in known:
            hint = similar(signature.predicate, known)
            yield Diagnostic(
                "SR211",
                f"no rule uses '{signature.predicate}', so its arity is unknown",
                signature.span,
                f"{hint}declare an unused input with its arity: @input {signature.predicate}/2 .",
            )


def _uses(programs: Sequence[Program]) -> Iterator[tuple[str, int, Span]]:
    for signature in declared(programs, Declaration):
        arity = ARITIES.get(signature.predicate) if signature.arity is None else signature.arity
        if arity is not None:
            yield signature.predicate, arity, signature.span
    atoms = [expiry.pattern for expiry in expiries(programs)]
    atoms += (message.atom for message in directives(programs, Message))
    for atom in atoms:
        yield atom.predicate, atom.arity, atom.span
    for rule in (rule for program in programs for rule in program.rules):
        for literal in (*rule.heads, *rule.body):
            for node in walk(literal):
                if isinstance(node, Atom):
                    yield node.predicate, node.arity, node.span
