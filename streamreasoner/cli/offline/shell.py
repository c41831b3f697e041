"""`streamreasoner shell`: updates, epochs and queries, typed or from standard input."""

from __future__ import annotations

import sys
import time
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.cli.options import (
    All,
    BaseIri,
    GraphsOption,
    HeaderLine,
    ReadAs,
    Rules,
    reading,
)

_SHOWN_AT_A_TERMINAL = 200


def shell(
    rules: Rules,
    facts: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of initial facts, as for `materialize`."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Most facts a command prints; default: {_SHOWN_AT_A_TERMINAL} on a terminal,"
            " otherwise all.",
        ),
    ] = None,
    *,
    header: HeaderLine = False,
    hidden: All = False,
    read_as: ReadAs = None,
    base: BaseIri = None,
    graphs: GraphsOption = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Continue a script after an error.")
    ] = False,
) -> None:
    """Change facts and rules interactively, and see the consequences at once.

    Without a terminal, standard input is a script of commands, the output is a reproducible
    transcript, and the exit code is 1 if a command failed.
    """
    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.program.load import load_program
    from streamreasoner.shell import Session, run_script
    from streamreasoner.shell.output import Line, Tone

    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    if interactive:
        from streamreasoner.system.extras import require

        require("shell", "The prompt of `streamreasoner shell`")
    files = [str(path) for path in facts or ()]
    how = reading(read_as, header=header, base=base)
    reasoner = Reasoner(load_program(rules, graphs))
    if interactive:
        from streamreasoner.shell.prompt import history_file, run_prompt

        session = Session(
            reasoner,
            limit=limit or _SHOWN_AT_A_TERMINAL,
            reading=how,
            hidden=hidden,
            clock=time.perf_counter,
        )
        hint = Line("`help` lists the commands, Ctrl-D leaves.", Tone.NOTE)
        run_prompt(session, [*session.start(files), hint], history=history_file())
        return
    session = Session(reasoner, limit=limit, reading=how, hidden=hidden)
    for line in session.start(files):
        print(line.text)
    if not run_script(session, sys.stdin, sys.stdout.write, keep_going=keep_going):
        raise typer.Exit(1)
