"""The command line, one module per command. Invariant: a user error is one message, exit code 1."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import streamreasoner
from streamreasoner.cli.lazy import LazyGroup
from streamreasoner.errors import StreamReasonerError

_INTERRUPTED = 130

app = typer.Typer(cls=LazyGroup, no_args_is_help=True, pretty_exceptions_enable=False)


def _print_version(*, requested: bool) -> None:
    if requested:
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
    """Run the command line; the exit code reports success or failure."""
    try:
        app()
    except StreamReasonerError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except BrokenPipeError:
        # The reader of the pipe has closed it, so no message can be delivered.
        sys.stderr.close()
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
