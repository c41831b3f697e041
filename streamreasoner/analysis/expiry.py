"""What expires. Invariant: of a checked program, a fact matches at most one `@expires`, or none."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.dependency import unifies
from streamreasoner.lang.ast import Constant, Expires, Wildcard
from streamreasoner.lang.diagnostic import Diagnostic, line_of
from streamreasoner.lang.printer import print_literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.lang.ast import Program


def expiries(programs: Sequence[Program]) -> tuple[Expires, ...]:
    """Return the distinct `@expires` of all files, in textual order."""
    found = (
        directive
        for program in programs
        for directive in program.directives
        if isinstance(directive, Expires)
    )
    return tuple(dict.fromkeys(found))


def invalid_expiries(
    programs: Sequence[Program], prefixes: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """Report patterns that are not patterns, overlap, or match facts that the program states."""
    declared = expiries(programs)
    for directive in declared:
        for argument in directive.pattern.arguments:
            if not isinstance(argument, Constant | Wildcard):
                yield Diagnostic(
                    "SR250",
                    "an @expires has constants and wildcards only",
                    argument.span,
                    "write `_` where any term matches",
                )
    for first, second in combinations(declared, 2):
        if unifies(first.pattern, second.pattern):
            where = line_of(first.span, second.span)
            yield Diagnostic(
                "SR251",
                f"this @expires and {print_literal(first.pattern, prefixes)} in {where} "
                "match the same facts",
                second.span,
                "write patterns that differ in a constant, so that a fact expires at one time",
            )
    facts = (rule for program in programs for rule in program.rules if not rule.body)
    for fact in facts:
        for head in fact.heads:
            for directive in declared:
                if unifies(directive.pattern, head):
                    yield Diagnostic(
                        "SR252",
                        "this fact has no time, and the @expires in "
                        f"{line_of(directive.span, head.span)} matches it",
                        head.span,
                        "send the fact as an update, or state it with another predicate",
                    )
