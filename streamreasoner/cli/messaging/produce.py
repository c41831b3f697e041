"""`streamreasoner produce`: facts from files or standard input to an input topic."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.cli.options import (
    CONFIG_FILE,
    BaseIri,
    ConfigFile,
    HeaderLine,
    Read,
    Written,
)
from streamreasoner.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.io.codec.encode import Message

_SHOW_EVERY = 1000


def produce(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files of facts and folders of them, as `materialize` takes them, or files of"
            " messages (.jsonl); - is standard input."
        ),
    ] = None,
    config: ConfigFile = CONFIG_FILE,
    topic: Annotated[
        str | None, typer.Option(help="The topic; default: the first input topic.")
    ] = None,
    diff: Annotated[int, typer.Option(help="Multiplicity of each fact; -1 retracts.")] = 1,
    written: Annotated[
        Written | None,
        typer.Option(
            "--format",
            help="Format of the messages: one update each in json, the default, up to 1,000 in the"
            " others.",
        ),
    ] = None,
    *,
    read_as: Annotated[
        Read | None,
        typer.Option(
            "--from",
            help="Format of standard input, or of files whatever their names; default: by file"
            " name, else ntriples.",
        ),
    ] = None,
    header: HeaderLine = False,
    base: BaseIri = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="Send all facts in one message with this key, as topics with the semantics upsert"
            " need it, or no value if there are no facts; default format: nquads."
        ),
    ] = None,
) -> None:
    """Send facts, or lines of JSON unchanged, to an input topic."""
    from streamreasoner.system.extras import require

    require("kafka", "`streamreasoner produce`")

    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from streamreasoner.config import load
    from streamreasoner.format_names import JSON_ROW_FORMATS
    from streamreasoner.io.codec.from_files import Sending, messages_of, under_key
    from streamreasoner.io.formats.registry import of_name
    from streamreasoner.io.kafka.topics import produce as send

    loaded = load(config)
    kafka = loaded.kafka
    topic = topic or kafka.input_topics[0]
    if diff == 0:
        raise ConfigError("--diff must not be 0.")
    as_rows = written is None and loaded.input.format_of(topic) in JSON_ROW_FORMATS
    written = written or (Written.JSON if key is None else Written.NQUADS)
    source_format = of_name(read_as) if read_as else None
    sending = Sending(of_name(written), source_format, diff, header, base, as_rows)
    messages: Iterator[Message] = chain.from_iterable(
        messages_of(source, sending) for source in sources or [Path("-")]
    )
    if key is not None:
        messages = iter([under_key(key.encode(), messages)])
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("messages: {task.completed:,}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=False) as progress:
        task = progress.add_task("produce", total=None)
        count = 0
        for count in send(kafka, topic, messages):
            if count % _SHOW_EVERY == 0:
                progress.update(task, completed=count)
        progress.update(task, completed=count, total=count)
