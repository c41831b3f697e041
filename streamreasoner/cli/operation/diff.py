"""`streamreasoner diff`: what came and went between the ends of two epochs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from streamreasoner.cli.operation.moments import MOMENT_HELP, Format, Lines
from streamreasoner.cli.options import CONFIG_FILE, All, ConfigFile, StateDirectory
from streamreasoner.counts import counted


def diff(
    first: Annotated[str, typer.Argument(metavar="FROM", help=f"The end of {MOMENT_HELP}.")],
    last: Annotated[str, typer.Argument(metavar="TO", help="The same, not earlier.")],
    config: ConfigFile = CONFIG_FILE,
    *,
    state_directory: StateDirectory = None,
    hidden: All = False,
    format_: Format = Lines.TEXT,
) -> None:
    """Print the facts that came (+) and went (-) between the ends of two epochs.

    The pipeline may be running. A fact that came and went in between is not printed.
    """
    from streamreasoner.cli.operation.moments import epoch_of, open_past
    from streamreasoner.errors import DataError
    from streamreasoner.explain.fact import prefixes
    from streamreasoner.explain.render.prefixed import ExplanationPrinter
    from streamreasoner.io.formats.json import write_fact

    facts = open_past(config, state_directory)
    begin, end = (epoch_of(facts.past, moment) for moment in (first, last))
    if begin > end:
        raise DataError(f"Epoch {begin} is after epoch {end}; name the earlier one first.")
    printer = ExplanationPrinter({**prefixes(facts.program(begin)), **prefixes(facts.program(end))})
    count = 0
    for fact, sign in facts.differences(begin, end, hidden=hidden):
        match format_:
            case Lines.TEXT:
                print("+" if sign > 0 else "-", printer.fact(fact))
            case Lines.JSON:
                print(write_fact(fact.predicate, fact.arguments, sign))
        count += 1
    print(
        f"{counted(count, 'change')} from the end of epoch {begin} to {end}.",
        file=sys.stderr,
    )
