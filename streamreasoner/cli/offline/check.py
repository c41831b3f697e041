"""`streamreasoner check`: diagnostics on standard error, a summary on standard output."""

from __future__ import annotations

import sys

import typer

from streamreasoner.cli.options import Rules  # noqa: TC001 - typer reads it
from streamreasoner.counts import counted
from streamreasoner.errors import ProgramError


def check(rules: Rules) -> None:
    """Check a rule program: print every error with its location, or a one-line summary."""
    from streamreasoner.lang.diagnostic import render
    from streamreasoner.program import load_program

    try:
        checked = load_program(rules)
    except ProgramError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from None
    if checked.warnings:
        print(render(checked.warnings, checked.texts), file=sys.stderr)
    rules_with_body = [rule for program in checked.programs for rule in program.rules if rule.body]
    facts = [fact for fact in checked.facts if fact.predicate in checked.arities]
    counts = (
        *_if_any(len(checked.programs) - 1, "import"),
        *_if_any(len(facts), "fact"),
        counted(len(rules_with_body), "rule"),
        counted(len(checked.strata), "stratum", "strata"),
        counted(len(checked.visible), "predicate"),
        counted(len(checked.warnings), "warning"),
    )
    print(f"{checked.program.source}: {', '.join(counts)}")


def _if_any(number: int, noun: str) -> tuple[str, ...]:
    return (counted(number, noun),) if number else ()
