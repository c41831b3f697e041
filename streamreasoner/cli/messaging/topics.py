"""`streamreasoner topics`: the topics of a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamreasoner.cli.help import Command, Group
from streamreasoner.cli.options import CONFIG_FILE, ConfigFile
from streamreasoner.io.kafka.access.roles import Role  # noqa: TC001 - typer reads it

app = typer.Typer(cls=Group, help="The topics of a pipeline.", no_args_is_help=True)


@app.callback()
def topics() -> None:
    """The topics of a pipeline."""


@app.command(cls=Command)
def create(
    config: ConfigFile = CONFIG_FILE,
    partitions: Annotated[
        int, typer.Option(min=1, help="Partitions of input and output topics.")
    ] = 2,
    replication: Annotated[int, typer.Option(min=1, help="Copies of each topic.")] = 1,
) -> None:
    """Create the missing topics of the configuration."""
    from streamreasoner.config import load
    from streamreasoner.io.kafka.topics import create_topics

    loaded = load(config)
    created = create_topics(
        loaded.kafka,
        partitions,
        replication,
        loaded.rules.control_topic,
        upsert=loaded.output.upsert,
    )
    for name, now in created.items():
        print(f"{name}: {'created' if now else 'exists'}")


@app.command(cls=Command)
def acls(
    role: Annotated[Role, typer.Argument(help="Who connects: a pipeline (run), or a command.")],
    config: ConfigFile = CONFIG_FILE,
    principal: Annotated[str, typer.Option(help="Whom to grant the rights.")] = "User:reasoner",
    command_config: Annotated[
        Path, typer.Option(help="The options of a client that may grant them.")
    ] = Path("admin.properties"),
) -> None:
    """Print the commands of Kafka that grant a role its rights, and no others."""
    from streamreasoner.config import load
    from streamreasoner.io.kafka.access.rights import commands

    for line in commands(load(config), role, principal, str(command_config)):
        print(line)
