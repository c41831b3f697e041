"""`streamreasoner check`: diagnostics on standard error, a summary on standard output."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from streamreasoner.analysis import load_program
from streamreasoner.errors import ProgramError
from streamreasoner.lang.diagnostic import render


def check(
    rules: Annotated[str, typer.Argument(help="A rule file, or the name of a packaged ruleset.")],
) -> None:
    """Check a rule program: print every mistake with its place, or one line about the program."""
    try:
        checked = load_program(rules)
    except ProgramError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from None
    if checked.warnings:
        print(render(checked.warnings, checked.texts), file=sys.stderr)
    rules_written = [rule for program in checked.programs for rule in program.rules if rule.body]
    counts = (
        *_count_if_any(len(checked.programs) - 1, "import", "imports"),
        *_count_if_any(len(checked.facts), "fact", "facts"),
        _count(len(rules_written), "rule", "rules"),
        _count(len(checked.strata), "stratum", "strata"),
        _count(len(checked.arities), "predicate", "predicates"),
        _count(len(checked.warnings), "warning", "warnings"),
    )
    print(f"{checked.program.source}: {', '.join(counts)}")


def _count_if_any(number: int, one: str, many: str) -> tuple[str, ...]:
    return (_count(number, one, many),) if number else ()


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
