"""`streamreasoner explain`: why a fact is present in loaded files, or what is missing for it."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.cli.options import (
    All,
    BaseIri,
    Facts,
    GraphsOption,
    HeaderLine,
    ReadAs,
    Rules,
    reading,
)
from streamreasoner.errors import DataError, TermError

if TYPE_CHECKING:
    from collections.abc import Iterable

_PREFIX = re.compile(r"(?P<name>(?:[A-Za-z](?:[\w.-]*[\w-])?)?):?=<?(?P<iri>[^<>\s]+)>?")


class Rendering(Enum):
    """What is printed."""

    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    SVG = "svg"
    PROV = "prov"


def explain(
    rules: Rules,
    facts: Facts,
    fact: Annotated[
        str,
        typer.Option(
            # Escaped: rich would read the bracket as markup.
            help="The fact, as in a rule: 'path(ex:a, ex:b)', '\\[ex:a, a, ex:B]', with the"
            " prefixes of the program and of Turtle files; or a message of the output topic,"
            " '{\"predicate\": …}'; - reads it from standard input."
        ),
    ],
    *,
    prefix: Annotated[
        list[str] | None,
        typer.Option(help="An additional prefix, `ex=http://example.org/`; may be repeated."),
    ] = None,
    header: HeaderLine = False,
    hidden: All = False,
    read_as: ReadAs = None,
    base: BaseIri = None,
    graphs: GraphsOption = None,
    format_: Annotated[
        Rendering,
        typer.Option(
            "--format",
            help="Text tree, JSON document, Graphviz graph, picture, or RDF 1.2 (PROV-O).",
        ),
    ] = Rendering.TEXT,
    depth: Annotated[
        int | None, typer.Option(min=0, help="Most steps from the fact to any other.")
    ] = 50,
    size: Annotated[
        int | None, typer.Option(min=0, help="Most facts whose derivation is shown.")
    ] = 1000,
    matches: Annotated[
        int, typer.Option(min=0, help="Most matches of an aggregate that are shown.")
    ] = 3,
) -> None:
    """Explain why a fact is present, or what is missing."""
    from streamreasoner.api.nodes import from_ntriples
    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.cli.files import load_files
    from streamreasoner.explain import Limits, read_fact
    from streamreasoner.io.files.documents import declared_prefixes
    from streamreasoner.io.formats.json import fact_of_message
    from streamreasoner.program.load import load_program

    program = load_program(rules, graphs)
    more = {**declared_prefixes(facts), **_prefixes(prefix or ())}
    text = sys.stdin.read() if fact == "-" else fact
    goal = read_fact(fact_of_message(text), program, more)  # before the files are read
    reasoner = Reasoner(program)
    load_files(reasoner.session, facts, reading(read_as, header=header, base=base))
    terms = map(from_ntriples, goal.arguments)
    limits = Limits(depth, size, matches)
    explanation = reasoner.explain(
        goal.predicate, *terms, limits=limits, prefixes=more, hidden=hidden
    )
    match format_:
        case Rendering.TEXT:
            text = explanation.text()
        case Rendering.JSON:
            text = explanation.json()
        case Rendering.DOT:
            text = explanation.dot()
        case Rendering.SVG:
            text = f"{explanation.svg()}\n"
        case Rendering.PROV:
            text = explanation.prov()
    print(text, end="")


def _prefixes(options: Iterable[str]) -> dict[str, str]:
    """Maps prefix names to IRIs, from options like `ex=http://example.org/`."""
    from streamreasoner.rdf.terms import canonical

    parsed = {}
    for option in options:
        match = _PREFIX.fullmatch(option)
        with suppress(TermError):
            if match is not None:
                parsed[match["name"]] = canonical(f"<{match['iri']}>")[1:-1]
                continue
        raise DataError(
            f"--prefix '{option}' is not NAME=IRI; write --prefix ex=http://example.org/"
        )
    return parsed
