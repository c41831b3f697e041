"""The command line, one module per command. Invariant: a user error is one message, exit code 1.

A module imports only what the signature of its command needs, so that `--help` and the completion
of a shell are quick. The command imports what it calls when it is invoked.
"""

from __future__ import annotations

import errno
import sys
from typing import Annotated

import typer

import streamreasoner
from streamreasoner.cli.interrupts import interrupts_return
from streamreasoner.cli.messaging import topics
from streamreasoner.cli.messaging.broker import broker
from streamreasoner.cli.messaging.consume import consume
from streamreasoner.cli.messaging.produce import produce
from streamreasoner.cli.offline.check import check
from streamreasoner.cli.offline.check_shapes import check_shapes
from streamreasoner.cli.offline.explain import explain
from streamreasoner.cli.offline.explain_plan import explain_plan
from streamreasoner.cli.offline.materialize import materialize
from streamreasoner.cli.offline.query import query
from streamreasoner.cli.offline.shell import shell
from streamreasoner.cli.operation import rules
from streamreasoner.cli.operation.bootstrap import bootstrap
from streamreasoner.cli.operation.demo import demo
from streamreasoner.cli.operation.diff import diff
from streamreasoner.cli.operation.history import history
from streamreasoner.cli.operation.migrate import migrate
from streamreasoner.cli.operation.purge import purge
from streamreasoner.cli.operation.rebuild import rebuild
from streamreasoner.cli.operation.run import run
from streamreasoner.cli.operation.snapshot import snapshot
from streamreasoner.cli.operation.state import state
from streamreasoner.cli.serving.serve import serve
from streamreasoner.errors import StreamReasonerError

_INTERRUPTED = 130
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
app.command()(demo)
app.command()(run)
app.command()(bootstrap)
app.command()(migrate)
app.command()(rebuild)
app.command()(serve)
app.command()(state)
app.command()(diff)
app.command()(history)
app.command()(snapshot)
app.command()(purge)
app.command()(check)
app.command()(check_shapes)
app.command()(materialize)
app.command()(explain)
app.command()(explain_plan)
app.command()(query)
app.command()(shell)
app.command()(produce)
app.command()(consume)
app.command()(broker)
app.add_typer(topics.app, name="topics")
app.add_typer(rules.app, name="rules")


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
        with interrupts_return():
            app()
    except StreamReasonerError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except BrokenPipeError:
        # The reader of the pipe has closed it, so no message can be delivered.
        sys.stderr.close()
        raise SystemExit(1) from None
    except OSError as error:
        if error.errno not in _DISK:
            raise
        where = error.filename or "A file"
        print(
            f"error: {where} cannot be written or read: {error.strerror}. Fix the disk, then "
            "repeat the command.",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
