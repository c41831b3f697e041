"""`streamreasoner topics`: the topics of a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamreasoner.cli.confirm import Yes  # noqa: TC001 - typer reads it
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
    from streamreasoner.system.extras import require

    require("kafka", "`streamreasoner topics create`")

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


@app.command(cls=Command)
def delete(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC]...",
            help="Topics of the configuration; default: all of them but the input topics.",
        ),
    ] = None,
    config: ConfigFile = CONFIG_FILE,
    *,
    yes: Yes = False,
) -> None:
    """Delete the topics of a stopped pipeline with their messages, after a question.

    An input topic is deleted only if it is named. To start the pipeline from nothing, use `reset`.
    """
    from streamreasoner.system.extras import require

    require("kafka", "`streamreasoner topics delete`")

    from streamreasoner.cli.confirm import confirm
    from streamreasoner.config import load
    from streamreasoner.config.kafka import own_topics, topic_keys
    from streamreasoner.errors import ConfigError
    from streamreasoner.io.kafka import deletion
    from streamreasoner.io.kafka.owners.presence import check_ended

    loaded = load(config)
    kafka, control, app_id = loaded.kafka, loaded.rules.control_topic, loaded.pipeline.app_id
    keys = dict(topic_keys(kafka, control))
    if unknown := [name for name in names or () if name not in keys]:
        raise ConfigError(
            f"{', '.join(unknown)}: not in {config}, whose topics are {', '.join(keys)}."
        )
    wanted = dict.fromkeys(names or own_topics(kafka, control))
    found = deletion.existing(kafka, wanted)
    check_ended(kafka, app_id, "its topics are not deleted")
    if kafka.progress_topic in found:
        deletion.check_unshared(kafka, app_id)
    if found:
        listed = "\n".join(f"  {name} ({keys[name]})" for name in found)
        confirm(
            f"Kafka at {kafka.bootstrap_servers}:\n{listed}\nDelete these topics with all of "
            "their messages?",
            yes=yes,
        )
    for name in wanted:
        if name not in found:
            print(f"{name}: does not exist")
    for name in deletion.delete(kafka, found):
        print(f"{name}: deleted")
    if found and loaded.state.tables.exists():
        print(
            f"The state in {loaded.state.directory} belongs to deleted topics, so a start is "
            f"refused. Delete it, too, with: streamreasoner reset --config {config}"
        )
