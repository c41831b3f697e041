"""`streamreasoner explain`: why a fact is present after files are loaded, or what it lacks."""

from __future__ import annotations

from enum import Enum
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.analysis.load import load_program
from streamreasoner.explain import Limits, read_fact
from streamreasoner.reasoner import Reasoner

_LIMITS = Limits()


class Format(Enum):
    """What is printed."""

    TEXT = "text"
    JSON = "json"
    DOT = "dot"


def explain(
    rules: Annotated[str, typer.Argument(help="A rule file, or the name of a packaged ruleset.")],
    facts: Annotated[
        list[Path],
        typer.Argument(
            help="Files of facts: .nt, .ttl (triples), .nq (quads) or .csv (the predicate is the"
            " file's name); each may be packed as .gz or .xz."
        ),
    ],
    fact: Annotated[
        str,
        typer.Option(
            # A bracket would be markup to the printer of the help.
            help="The fact, as in a rule: 'path(ex:a, ex:b)', '\\[ex:a, a, ex:B]', with the"
            " prefixes of the program."
        ),
    ],
    *,
    format_: Annotated[
        Format, typer.Option("--format", help="A tree, a document, or a graph for Graphviz.")
    ] = Format.TEXT,
    depth: Annotated[
        int | None, typer.Option(min=0, help="Most steps from the fact to any other.")
    ] = _LIMITS.depth,
    size: Annotated[
        int | None, typer.Option(min=0, help="Most facts whose derivation is shown.")
    ] = _LIMITS.size,
    matches: Annotated[
        int, typer.Option(min=0, help="Most matches of an aggregate that are shown.")
    ] = _LIMITS.matches,
) -> None:
    """Explain why a fact is present, or what is missing."""
    program = load_program(rules)
    read_fact(fact, program)  # a mistake is told before the files are read
    reasoner = Reasoner(program)
    reasoner.load(*facts)
    explanation = reasoner.explain(fact, limits=Limits(depth, size, matches))
    match format_:
        case Format.TEXT:
            text = explanation.text()
        case Format.JSON:
            text = explanation.json()
        case Format.DOT:
            text = explanation.dot()
    print(text, end="")
