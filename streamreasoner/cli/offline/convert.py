"""`streamreasoner convert`: rules in another notation on standard output, or in a file."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated, Literal

import typer

from streamreasoner.cli.options import Rules  # noqa: TC001 - typer reads it
from streamreasoner.errors import DataError


def convert(
    rules: Rules,
    to: Annotated[
        Literal["dl", "srl"],
        typer.Option(help="dl: the rule language; srl: SPARQL-RL.", show_default=False),
    ],
    output: Annotated[
        Path | None, typer.Option(help="Write to this file.", show_default="standard output")
    ] = None,
) -> None:
    """Write rules, with all that they import, in another notation.

    The result derives the same triples. What the other notation cannot say is refused by name.
    """
    from streamreasoner.program import load_program
    from streamreasoner.program.text import canonical_text, common_prefixes
    from streamreasoner.srl.writing.rules import rule_set_text

    programs = load_program(rules).programs
    if to == "dl":
        text = canonical_text(programs)
    else:
        text = rule_set_text(programs, common_prefixes(programs))
    if output is None:
        print(text, end="")
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{output}: cannot be written: {error.strerror}.") from None
