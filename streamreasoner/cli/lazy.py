"""Commands imported on invocation. Invariant: listing the commands imports none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typer._click import Command, Context

COMMANDS: Mapping[str, str] = {
    "demo": "Run a broker, a pipeline and a simulated university, and verify the derived facts.",
    "run": "Run a pipeline until SIGTERM or SIGINT; the current batch is finished first.",
    "migrate": "Convert the state of a stopped pipeline to the format of this release.",
    "rebuild": "Write the program in effect and the asserted facts of a stopped pipeline into"
    " files.",
    "check": "Check a rule program: print every error with its location, or a one-line summary.",
    "materialize": "Evaluate a rule program over files of facts.",
    "explain": "Explain why a fact is present, or what is missing.",
    "explain-plan": "Print the lowered rules, their delta plans and the arrangements these use.",
    "shell": "Change facts and rules interactively, and see the consequences at once.",
    "produce": "Send each fact, or each line of JSON unchanged, as a message to an input topic.",
    "consume": "Print the committed messages of a topic, one per line, until interrupted.",
    "broker": "Run a Kafka broker on this machine, without Docker, until SIGTERM or SIGINT.",
    "topics": "The topics of a pipeline.",
    "rules": "The program of a running pipeline.",
}
"""The first paragraph of each command's help."""


class LazyGroup(TyperGroup):
    """A group whose commands are the modules of this package with the same names.

    A module has a group called `app`, or a function with the module's name.
    """

    def __init__(self, **attributes: Any) -> None:
        stubs = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}
        super().__init__(**{**attributes, "commands": stubs})

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """The command that the arguments name, imported, and the remaining arguments."""
        name, stub, rest = super().resolve_command(ctx, args)
        return name, load(name) if name is not None else stub, rest


def load(name: str) -> Command:
    """Import a command."""
    file = name.replace("-", "_")
    module = import_module(f"{__package__}.{file}")
    group = getattr(module, "app", None)
    if isinstance(group, typer.Typer):
        return get_group(group)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(getattr(module, file))
    return get_command(alone)
