"""`streamreasoner state`: the present facts at the end of an epoch, also of a running pipeline."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from streamreasoner.cli.operation.moments import MOMENT_HELP, Format, Lines
from streamreasoner.cli.options import CONFIG_FILE, All, ConfigFile, StateDirectory
from streamreasoner.counts import counted


def state(
    config: ConfigFile = CONFIG_FILE,
    pattern: Annotated[
        str | None,
        typer.Argument(
            # Escaped: rich would read the bracket as markup.
            help="A predicate, or a pattern in the rule language with the prefixes of the program:"
            " path, 'path(ex:a, ?x)', '\\[_, a, ex:B]'; default: all predicates."
        ),
    ] = None,
    *,
    state_directory: StateDirectory = None,
    at: Annotated[
        str | None, typer.Option(help=f"As of the end of {MOMENT_HELP}; default: the last epoch.")
    ] = None,
    hidden: All = False,
    format_: Format = Lines.TEXT,
) -> None:
    """Print the present facts of a state, asserted and derived.

    The pipeline may be running. JSON lines are updates, which `produce` can send.
    """
    from streamreasoner.cli.operation.moments import epoch_of, open_past
    from streamreasoner.explain.fact import prefixes
    from streamreasoner.explain.render.prefixed import ExplanationPrinter
    from streamreasoner.facts import FactPattern
    from streamreasoner.io.formats.json import write_fact
    from streamreasoner.lang.ast import Prefix
    from streamreasoner.query.syntax import Scope, read_pattern

    facts = open_past(config, state_directory)
    epoch = epoch_of(facts.past, at)
    program = facts.program(epoch)
    if pattern is None:
        names = program.arities if hidden else program.visible
        patterns = [FactPattern(predicate) for predicate in sorted(names)]
    else:
        directives = tuple(
            directive for directive in program.program.directives if isinstance(directive, Prefix)
        )
        patterns = [read_pattern(pattern, 0, Scope(directives, program.arities, program.unlisted))]
    printer, count = ExplanationPrinter(prefixes(program)), 0
    for each in patterns:
        for fact in facts.facts(each, epoch):
            match format_:
                case Lines.TEXT:
                    print(printer.fact(fact))
                case Lines.JSON:
                    print(write_fact(fact.predicate, fact.arguments, 1))
            count += 1
    print(f"{counted(count, 'fact')} at the end of epoch {epoch}.", file=sys.stderr)
