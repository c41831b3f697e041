"""`streamreasoner explain-plan`: how a program is lowered, and the plans that run."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.analysis import load_program
from streamreasoner.plan import explain
from streamreasoner.plan.lower import lower
from streamreasoner.plan.sizes import measured


def explain_plan(
    rules: Annotated[str, typer.Argument(help="A rule file, or the name of a packaged ruleset.")],
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A file of facts, whose sizes order the joins; may be repeated."),
    ] = None,
    *,
    stage: Annotated[explain.Stage, typer.Option(help="What to print.")] = explain.Stage.ALL,
) -> None:
    """Print how the rules are lowered, their delta plans and what these look facts up in."""
    checked = load_program(rules)
    sizes = measured(lower(checked), data) if data else None
    print(explain.explain_plan(checked, stage=stage, sizes=sizes), end="")
