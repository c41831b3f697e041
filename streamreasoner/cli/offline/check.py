"""`streamreasoner check`: diagnostics on standard error, a summary on standard output."""

from __future__ import annotations

import sys

import typer

from streamreasoner.cli.options import Rules  # noqa: TC001 - typer reads it
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
        *_count_if_any(len(checked.programs) - 1, "import", "imports"),
        *_count_if_any(len(facts), "fact", "facts"),
        _count(len(rules_with_body), "rule", "rules"),
        _count(len(checked.strata), "stratum", "strata"),
        _count(len(checked.visible), "predicate", "predicates"),
        _count(len(checked.warnings), "warning", "warnings"),
    )
    print(f"{checked.program.source}: {', '.join(counts)}")


def _count_if_any(number: int, singular: str, plural: str) -> tuple[str, ...]:
    return (_count(number, singular, plural),) if number else ()


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"
