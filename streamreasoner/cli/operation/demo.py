"""`streamreasoner demo`: broker and pipeline on this machine, with a comparison at the end."""

from __future__ import annotations

import logging
import sys
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.system.interrupts import interruptible

_INTERRUPTED = 130


def demo(
    duration: Annotated[float, typer.Option(min=1, help="Seconds of stream.")] = 60,
    rate: Annotated[float, typer.Option(min=0.1, help="Updates per second.")] = 40,
    seed: Annotated[int, typer.Option(help="The same seed gives the same stream.")] = 0,
    state: Annotated[
        Path | None,
        typer.Option(help="Keep all files in this directory; default: a temporary one."),
    ] = None,
    *,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print lines of text; the default without a terminal.")
    ] = False,
) -> None:
    """Run a broker, a pipeline and a simulated university, and verify the derived facts.

    People come and go, courses begin and end, and the schema changes under them. Exits 0 only if
    the final closure equals an evaluation from scratch.
    """
    from streamreasoner.system.extras import require

    require("demo", "`streamreasoner demo`")

    from streamreasoner.demo.dashboard import Dashboard
    from streamreasoner.demo.plain import PlainView
    from streamreasoner.demo.run import run
    from streamreasoner.demo.stream import Options

    view = PlainView() if plain or not sys.stdout.isatty() else Dashboard(duration)
    # Failures raise exceptions; a log line would garble the screen.
    logging.getLogger("streamreasoner").addHandler(logging.NullHandler())
    logging.getLogger("streamreasoner").propagate = False
    try:
        with interruptible():
            equal = run(Options(duration, rate, seed, state), view)
    except KeyboardInterrupt:
        print("Interrupted before the comparison was finished.", file=sys.stderr)
        raise typer.Exit(_INTERRUPTED) from None
    raise typer.Exit(0 if equal else 1)
