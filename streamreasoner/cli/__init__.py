"""The command line, one module per command. Invariant: a user error is one message, exit code 1.

A module imports only what the signature of its command needs, so that `--help` and the completion
of a shell are quick. The command imports what it calls when it is invoked.
"""

from __future__ import annotations

import errno
import io
import sys
from typing import TYPE_CHECKING, Annotated

import typer

import streamreasoner
from streamreasoner.cli.backups.backup import backup
from streamreasoner.cli.backups.restore import restore
from streamreasoner.cli.help import Command, Group
from streamreasoner.cli.messaging import topics
from streamreasoner.cli.messaging.broker import broker
from streamreasoner.cli.messaging.consume import consume
from streamreasoner.cli.messaging.produce import produce
from streamreasoner.cli.offline.check import check
from streamreasoner.cli.offline.check_shapes import check_shapes
from streamreasoner.cli.offline.convert import convert
from streamreasoner.cli.offline.explain import explain
from streamreasoner.cli.offline.explain_plan import explain_plan
from streamreasoner.cli.offline.materialize import materialize
from streamreasoner.cli.offline.query import query
from streamreasoner.cli.offline.shell import shell
from streamreasoner.cli.offline.warm import warm
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
from streamreasoner.cli.setup.doctor import doctor
from streamreasoner.cli.setup.init import init
from streamreasoner.cli.setup.reset import reset
from streamreasoner.errors import StreamReasonerError
from streamreasoner.system.interrupts import interrupts_return

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_INTERRUPTED = 130
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})

app = typer.Typer(cls=Group, no_args_is_help=True, pretty_exceptions_enable=False)
_RUN, _TOPICS = "Run a pipeline", "The topics of a pipeline"
_PANELS: Mapping[str, Sequence[Callable[..., None]]] = {
    "Rules, facts and queries in files": (
        *(materialize, query, explain, explain_plan, check, check_shapes, convert, shell, warm),
    ),
    "Begin a pipeline": (demo, init, doctor),
    _RUN: (run, bootstrap, serve),
    _TOPICS: (produce, consume, broker),
    "The state of a pipeline": (
        *(state, diff, history, snapshot, backup, restore, rebuild, migrate, purge, reset),
    ),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(cls=Command, rich_help_panel=_panel)(_command)
app.add_typer(topics.app, name="topics", rich_help_panel=_TOPICS)
app.add_typer(rules.app, name="rules", rich_help_panel=_RUN)


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


def _write_utf8() -> None:
    """Read and write UTF-8, as the formats have it, whatever the locale says."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
            stream.reconfigure(encoding="utf-8")


def main() -> None:
    """Run the command line; the exit code reports success or failure."""
    _write_utf8()
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
