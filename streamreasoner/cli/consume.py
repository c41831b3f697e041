"""`streamreasoner consume`: committed messages of a topic, one line each."""

from __future__ import annotations

import sys
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.config import load
from streamreasoner.streaming.topics import consume as read_topic


def consume(
    config: Annotated[Path, typer.Option(help="The configuration file (TOML).")],
    topic: Annotated[str | None, typer.Option(help="The topic; default: the output topic.")] = None,
    *,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Start at the oldest message.")
    ] = False,
    count: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many; default: never.")
    ] = None,
) -> None:
    """Print the committed messages of a topic, one a line, until interrupted."""
    kafka = load(config).kafka
    messages = read_topic(kafka, topic or kafka.output_topic, from_beginning=from_beginning)
    with closing(messages), suppress(KeyboardInterrupt, BrokenPipeError):
        for _, value in islice(messages, count):
            sys.stdout.buffer.write((value if value is not None else b"null") + b"\n")
            sys.stdout.buffer.flush()
