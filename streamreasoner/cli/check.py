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
        print(render(checked.warnings, checked.program.text), file=sys.stderr)
    counts = (
        _count(len(checked.program.rules), "rule", "rules"),
        _count(len(checked.strata), "stratum", "strata"),
        _count(len(checked.arities), "predicate", "predicates"),
        _count(len(checked.warnings), "warning", "warnings"),
    )
    print(f"{checked.program.source}: {', '.join(counts)}")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
