"""`streamreasoner demo`: everything on this machine, live, with a verdict at the end."""

from __future__ import annotations

import logging
import signal
import sys
from contextlib import contextmanager
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.demo.dashboard import Dashboard
from streamreasoner.demo.plain import PlainView
from streamreasoner.demo.run import run
from streamreasoner.demo.stream import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        bool, typer.Option("--plain", help="Lines of text; always so without a terminal.")
    ] = False,
) -> None:
    """Run a broker, a pipeline and a university, and compare what is derived with from scratch.

    People come and go, courses begin and end, and the schema changes under them. Exits 0 only if
    the closure at the end is equal to an evaluation from scratch.
    """
    view = PlainView() if plain or not sys.stdout.isatty() else Dashboard(duration)
    # What matters comes as an exception; a log line would tear the screen.
    logging.getLogger("streamreasoner").addHandler(logging.NullHandler())
    logging.getLogger("streamreasoner").propagate = False
    try:
        with _interruptible():
            equal = run(Options(duration, rate, seed, state), view)
    except KeyboardInterrupt:
        print("Interrupted before the comparison was done.", file=sys.stderr)
        raise typer.Exit(_INTERRUPTED) from None
    raise typer.Exit(0 if equal else 1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, so that servers are stopped either way.

    A shell that starts a command in the background has SIGINT ignored; here it is not.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
