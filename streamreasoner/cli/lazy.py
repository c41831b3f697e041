"""Commands that are imported when they are invoked. Invariant: a list of them imports none."""

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
    "demo": "Run a broker, a pipeline and a university, and compare what is derived with from"
    " scratch.",
    "run": "Run a pipeline until SIGTERM or SIGINT; the batch that runs then is finished first.",
    "migrate": "Bring the state of a stopped pipeline to the version of this release; content"
    " stays.",
    "rebuild": "Write the program in effect and the asserted facts of a stopped pipeline into"
    " files.",
    "check": "Check a rule program: print every mistake with its place, or one line about the"
    " program.",
    "materialize": "Evaluate a rule program over files of facts.",
    "explain": "Explain why a fact is present, or what is missing.",
    "explain-plan": "Print how the rules are lowered, their delta plans and what these look"
    " facts up in.",
    "shell": "Change facts and rules, and see at once what follows from them.",
    "produce": "Send each fact, or each line of JSON as it is, as a message to an input topic.",
    "consume": "Print the committed messages of a topic, one a line, until interrupted.",
    "broker": "Run a Kafka broker on this machine, without Docker, until SIGTERM or SIGINT.",
    "topics": "The topics of a pipeline.",
    "rules": "The program of a running pipeline.",
}
"""What each command is for: the first paragraph of its own help."""


class LazyGroup(TyperGroup):
    """A group whose commands are modules of this package, named like them.

    A module has a group, called `app`, or a function with the module's name.
    """

    def __init__(self, **attributes: Any) -> None:
        stubs = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}
        super().__init__(**{**attributes, "commands": stubs})

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """The command that the arguments name, imported, and the arguments that are left."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, load(name) if name is not None else found, rest


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
