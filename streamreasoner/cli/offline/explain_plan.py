"""`streamreasoner explain-plan`: how a program is lowered, and its delta plans."""

from __future__ import annotations

from typing import Annotated

import typer

from streamreasoner.cli.options import Rules  # noqa: TC001 - typer reads it
from streamreasoner.plan.print.stage import Stage


def explain_plan(
    rules: Rules, *, stage: Annotated[Stage, typer.Option(help="What to print.")] = Stage.ALL
) -> None:
    """Print the lowered rules, their delta plans and the arrangements these use."""
    from streamreasoner.plan.print import plans
    from streamreasoner.program import load_program

    print(plans.explain_plan(load_program(rules), stage=stage), end="")
