"""`streamreasoner init`: a folder with a pipeline that runs as it is."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.cli.setup.templates import Template


def init(
    directory: Annotated[
        Path, typer.Argument(help="Where to write; created if absent. No file is replaced.")
    ],
    template: Annotated[
        Template,
        typer.Option(
            help="What to begin with: rules over tables (plain), changes of database rows (cdc), an"
            " ontology and RDF (ontology), or the last minutes of a stream (windows)."
        ),
    ] = Template.PLAIN,
) -> None:
    """Begin a pipeline: configuration, rules, sample data and a Compose file.

    Prints the commands that run it.
    """
    from streamreasoner.cli.setup.templates import data_of, write

    written = write(template, directory)
    print(f"Wrote {', '.join(written)} to {directory}. To run the pipeline:")
    for command, comment in (
        (f"cd {directory}", ""),
        ("streamreasoner check --config pipeline.toml", ""),
        ("streamreasoner broker --directory kafka &", "or use a broker of your own"),
        ("streamreasoner topics create --config pipeline.toml", ""),
        ("streamreasoner run --config pipeline.toml &", "page: http://127.0.0.1:9464"),
        (f"streamreasoner produce {' '.join(data_of(template))} --config pipeline.toml", ""),
        ("streamreasoner consume --config pipeline.toml --from-beginning", ""),
    ):
        print(f"  {command:<66}# {comment}" if comment else f"  {command}")
    print(
        "To begin again with other rules, stop it, change rules.dl, and run: streamreasoner reset"
        " --config pipeline.toml"
    )
