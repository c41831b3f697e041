"""Parse a fact as a user writes it. Invariant: carets point into the user's text."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from streamreasoner.errors import DataError
from streamreasoner.explain.ground import fact_of
from streamreasoner.lang.ast import Constant, Prefix, Span, Variable, Wildcard
from streamreasoner.lang.diagnostic import Diagnostic, refuse
from streamreasoner.lang.parser import read
from streamreasoner.lang.printer import print_directive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.lang.ast import Atom, Expression, Program
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.query.facts import Fact


_SOURCE = "<fact>"


def read_fact(
    text: str, program: CheckedProgram, extra_prefixes: Mapping[str, str] | None = None
) -> Fact:
    """Read one fact in the rule language, such as `path(ex:a, 5)` or `[ex:a, a, ex:B]`.

    Args:
        text: The fact; the dot is optional.
        program: Defines the prefixes and the predicates.
        extra_prefixes: Further prefixes, name to IRI; those of the program take precedence.

    Raises:
        ProgramError: The text is not one fact; the message shows where.
        DataError: The text is empty, or the program does not have the predicate.
    """
    line = " ".join(text.split("\n")).rstrip()
    if not line:
        raise DataError("There is no fact to explain; write one as in a rule, `edge(ex:a, ex:b)`.")
    terminated = line if line.endswith(".") else f"{line} ."
    # The prefixes are on a line of their own, so that columns refer to the user's text.
    header = " ".join(
        print_directive(Prefix(name, iri, _span(terminated)))
        for name, iri in {**(extra_prefixes or {}), **prefixes(program)}.items()
    )
    reading = read(f"{header}\n{terminated}", _SOURCE)
    mistakes = reading.diagnostics or _mistakes(reading.program, program.arities)
    diagnostics = [_shifted(item, len(header) + 1) for item in mistakes]
    if not diagnostics and not reading.program.rules:
        diagnostics = [
            Diagnostic("SR101", "found no fact", _span(terminated), "write `edge(ex:a, ex:b)`")
        ]
    if diagnostics:
        raise refuse(
            [_unfinished(item, line, terminated) for item in diagnostics], {_SOURCE: terminated}
        )
    head = reading.program.rules[0].head
    if head.predicate not in program.arities:
        raise DataError(_unknown(head.predicate, program.arities))
    return fact_of(head)


def prefixes(program: CheckedProgram) -> dict[str, str]:
    """Prefixes of all files; earlier files take precedence."""
    merged: dict[str, str] = {}
    for source in program.programs:
        merged = {**source.prefixes, **merged}
    return merged


def _mistakes(program: Program, arities: Mapping[str, int]) -> list[Diagnostic]:
    facts = [head for rule in program.rules for head in rule.heads]
    mistakes = [
        Diagnostic(
            "SR101",
            "a rule, where a fact is expected",
            rule.span,
            "a fact is the head alone",
        )
        for rule in program.rules
        if rule.body
    ]
    mistakes += [
        Diagnostic("SR101", "more than one fact", other.span, "explain one fact at a time")
        for other in facts[1:]
    ]
    mistakes += [
        Diagnostic(
            "SR210",
            f"{fact.predicate} has {arities[fact.predicate]} arguments in the program, not"
            f" {fact.arity}",
            fact.span,
        )
        for fact in facts[:1]
        if arities.get(fact.predicate, fact.arity) != fact.arity
    ]
    return mistakes or [
        Diagnostic("SR205", f"{_kind_of(node)} in a fact", node.span, "write a constant")
        for fact in facts
        for node in _not_constant(fact)
    ]


def _unknown(predicate: str, arities: Mapping[str, int]) -> str:
    close = get_close_matches(predicate, arities, 1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    known = ", ".join(f"{name}/{arity}" for name, arity in sorted(arities.items()))
    return f"The program has no predicate '{predicate}'.{hint} It has {known}."


def _not_constant(fact: Atom) -> list[Expression]:
    return [argument for argument in fact.arguments if not isinstance(argument, Constant)]


def _kind_of(node: Expression) -> str:
    match node:
        case Variable(name):
            return f"variable ?{name}"
        case Wildcard():
            return "wildcard"
        case _:
            return "expression"


def _shifted(diagnostic: Diagnostic, offset: int) -> Diagnostic:
    span = diagnostic.span
    moved = replace(
        span, line=1, end_line=1, start=max(span.start - offset, 0), end=max(span.end - offset, 1)
    )
    return replace(diagnostic, span=moved)


def _unfinished(diagnostic: Diagnostic, line: str, terminated: str) -> Diagnostic:
    """Report an error at the added dot at the end of the user's text instead."""
    if line == terminated or diagnostic.span.start < len(line):
        return diagnostic
    missing = diagnostic.message.partition(", ")[2] or diagnostic.message
    last = max(len(line) - 1, 0)
    span = replace(_span(line), column=last + 1, start=last)
    return Diagnostic("SR102", f"the fact ends here, {missing}", span, diagnostic.help)


def _span(text: str) -> Span:
    return Span(_SOURCE, 1, 1, 1, len(text) + 1, 0, len(text))
