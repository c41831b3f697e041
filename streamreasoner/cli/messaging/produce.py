"""`streamreasoner produce`: facts from files or standard input to an input topic."""

from __future__ import annotations

from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from streamreasoner.cli.options import ConfigFile, HeaderLine  # noqa: TC001 - typer reads it
from streamreasoner.errors import ConfigError
from streamreasoner.io.formats.registry import JSON, NQUADS, NTRIPLES

_SHOW_EVERY = 1000


class LineFormat(StrEnum):
    """Format of standard input, or of a file regardless of its name: one fact per line."""

    NTRIPLES = NTRIPLES.name
    NQUADS = NQUADS.name
    JSON = JSON.name


_FORMATS = {each.name: each for each in (NTRIPLES, NQUADS, JSON)}


def produce(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files of facts (.nt, .ttl, .nq, .trig, .jsonld, .csv, .rdfp) or of messages"
            " (.jsonl), optionally as .gz or .xz; - is standard input."
        ),
    ] = None,
    config: ConfigFile = Path("streamreasoner.toml"),
    topic: Annotated[
        str | None, typer.Option(help="The topic; default: the first input topic.")
    ] = None,
    diff: Annotated[int, typer.Option(help="Multiplicity of each fact; -1 retracts.")] = 1,
    kind: Annotated[
        LineFormat | None, typer.Option("--format", help="Default: by file name, else ntriples.")
    ] = None,
    *,
    header: HeaderLine = False,
) -> None:
    """Send each fact, or each line of JSON unchanged, as a message to an input topic."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from streamreasoner.config import load
    from streamreasoner.io.codec.transcode import messages_of
    from streamreasoner.io.kafka.topics import produce as send

    kafka = load(config).kafka
    if diff == 0:
        raise ConfigError("--diff must not be 0.")
    messages = chain.from_iterable(
        messages_of(source, _FORMATS.get(kind or ""), diff, header=header)
        for source in sources or [Path("-")]
    )
    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed:,} messages"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=False) as progress:
        task = progress.add_task("produce", total=None)
        count = 0
        for count in send(kafka, topic or kafka.input_topics[0], messages):
            if count % _SHOW_EVERY == 0:
                progress.update(task, completed=count)
        progress.update(task, completed=count)
