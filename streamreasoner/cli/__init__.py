"""The command line: one module per command. Invariant: a user's mistake is one message, exit 1."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import streamreasoner
from streamreasoner.cli import rules, topics
from streamreasoner.cli.check import check
from streamreasoner.cli.consume import consume
from streamreasoner.cli.demo import demo
from streamreasoner.cli.explain import explain
from streamreasoner.cli.explain_plan import explain_plan
from streamreasoner.cli.materialize import materialize
from streamreasoner.cli.migrate import migrate
from streamreasoner.cli.produce import produce
from streamreasoner.cli.run import run
from streamreasoner.cli.shell import shell
from streamreasoner.errors import StreamReasonerError

_INTERRUPTED = 130

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
app.command()(demo)
app.command()(run)
app.command()(migrate)
app.command()(check)
app.command()(materialize)
app.command()(explain)
app.command()(explain_plan)
app.command()(shell)
app.command()(produce)
app.command()(consume)
app.add_typer(topics.app, name="topics")
app.add_typer(rules.app, name="rules")


def _print_version(*, wanted: bool) -> None:
    if wanted:
        print(f"streamreasoner {streamreasoner.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Keep the consequences of a rule program up to date over a stream of RDF triple diffs."""


def main() -> None:
    """Run the command line; the exit code says whether the command did its work."""
    try:
        app()
    except StreamReasonerError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except BrokenPipeError:
        # The reader of a pipe has gone; there is nobody left to tell.
        sys.stderr.close()
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
