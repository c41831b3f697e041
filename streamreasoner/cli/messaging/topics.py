"""`streamreasoner topics`: the topics of a pipeline."""

from __future__ import annotations

from typing import Annotated

import typer

from streamreasoner.cli.options import ConfigFile  # noqa: TC001 - typer reads it

app = typer.Typer(help="The topics of a pipeline.", no_args_is_help=True)


@app.callback()
def topics() -> None:
    """The topics of a pipeline."""


@app.command()
def create(
    config: ConfigFile,
    partitions: Annotated[
        int, typer.Option(min=1, help="Partitions of input and output topics.")
    ] = 2,
    replication: Annotated[int, typer.Option(min=1, help="Copies of each topic.")] = 1,
) -> None:
    """Create the missing topics of the configuration."""
    from streamreasoner.config import load
    from streamreasoner.io.kafka.topics import create_topics

    loaded = load(config)
    created = create_topics(loaded.kafka, partitions, replication, loaded.rules.control_topic)
    for name, now in created.items():
        print(f"{name}: {'created' if now else 'exists'}")
