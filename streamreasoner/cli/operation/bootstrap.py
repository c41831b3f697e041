"""`streamreasoner bootstrap`: the first load of a state from files, without Kafka in between."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.cli.options import (
    CONFIG_FILE,
    BaseIri,
    ConfigFile,
    HeaderLine,
)
from streamreasoner.counts import counted
from streamreasoner.errors import DataError

if TYPE_CHECKING:
    from streamreasoner.io.kafka.offsets.starting import Wanted
    from streamreasoner.pipeline.bootstrap.record import Bootstrap

_FACTS = 500_000


def bootstrap(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Files of facts and folders of them, as `materialize` takes them, Delta tables,"
            " or state directories of other pipelines."
        ),
    ],
    config: ConfigFile = CONFIG_FILE,
    *,
    starting_offsets: Annotated[
        str | None,
        typer.Option(
            help="Where `run` begins to read: earliest, latest, a time, offsets as"
            ' {"topic": {"0": 17}}, or a file of them; default: kafka.starting_offsets.'
        ),
    ] = None,
    topic: Annotated[
        str,
        typer.Option(help="The facts count as asserted by this input topic; default: by none."),
    ] = "",
    ts: Annotated[
        str | None, typer.Option(help="Event time of all facts, which those that expire need.")
    ] = None,
    publish: Annotated[
        bool,
        typer.Option(
            "--publish/--no-publish", help="Publish the closure, as that of any input; or nothing."
        ),
    ] = True,
    facts_per_epoch: Annotated[int, typer.Option(min=1, help="Most facts in an epoch.")] = _FACTS,
    header: HeaderLine = False,
    base: BaseIri = None,
) -> None:
    """Load facts into a new state; `run` goes on from the input topics.

    If it is interrupted, run it again.
    """
    from streamreasoner.system.extras import require
    from streamreasoner.system.memory import keep_freed_memory

    keep_freed_memory()
    require("pipeline", "`streamreasoner bootstrap`")

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from streamreasoner.cli.files import tell_skipped
    from streamreasoner.config import load
    from streamreasoner.io.files.documents import AS_NAMED
    from streamreasoner.pipeline.bootstrap.record import Request
    from streamreasoner.pipeline.bootstrap.sources import identify
    from streamreasoner.service import first_load

    loaded = load(config)
    tell_skipped(sources, AS_NAMED)
    starting = starting_offsets or loaded.kafka.starting_offsets
    request = Request(
        sources=identify(sources),
        starting_offsets=starting,
        facts_per_epoch=facts_per_epoch,
        ts=None if ts is None else _time(ts),
        topic=topic,
        publish=publish,
        header=header,
        base=base or "",
    )
    columns = (TextColumn("epochs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("bootstrap", total=None)

        def report(begun: Bootstrap, epochs: int) -> None:
            progress.update(task, total=begun.epochs, completed=epochs)

        done = first_load.bootstrap(loaded, request, _wanted(starting), report)
    print(
        f"Loaded {counted(done.facts, 'fact')} in {counted(done.epochs, 'epoch')}"
        f"{'' if publish else ', of which nothing is published'}. Go on with: streamreasoner run"
        f" --config {config}"
    )


def _wanted(text: str) -> Wanted:
    from streamreasoner.cli.operation.moments import time_of
    from streamreasoner.io.kafka.offsets.starting import EARLIEST, LATEST, read_offsets

    if text in {EARLIEST, LATEST}:
        return text
    return read_offsets(text) if time_of(text) is None else _time(text)


def _time(text: str) -> int:
    """A time in milliseconds since 1970."""
    from streamreasoner.api.updates import milliseconds
    from streamreasoner.cli.operation.moments import time_of

    moment = time_of(text)
    if moment is None:
        raise DataError(f"'{text}' is not a time. Write one as 2026-01-31T12:00:00Z.")
    return milliseconds(moment)
