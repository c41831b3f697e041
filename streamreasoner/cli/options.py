"""Arguments and options of several commands. Invariant: each reads alike wherever it stands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Written(StrEnum):
    """The formats of messages that are written."""

    JSON = "json"
    JSON_LINES = "json-lines"
    NTRIPLES = "ntriples"
    NQUADS = "nquads"
    RDF_PATCH = "rdf-patch"


class Read(StrEnum):
    """The formats of sources whose names do not tell theirs."""

    JSON_LINES = "json-lines"
    NTRIPLES = "ntriples"
    NQUADS = "nquads"
    RDF_PATCH = "rdf-patch"
    TURTLE = "turtle"
    TRIG = "trig"
    JSON_LD = "json-ld"


Rules = Annotated[str, typer.Argument(help="A rule file, or the name of a packaged ruleset.")]
Facts = Annotated[
    list[Path],
    typer.Argument(
        help="Files of facts: .nt, .ttl (triples), .nq, .trig, .jsonld (quads), .csv (the"
        " predicate is the file's name) or .rdfp (additions and deletions of triples and quads);"
        " each may be compressed as .gz or .xz. Also .parquet, and folders of Delta tables."
    ),
]
HeaderLine = Annotated[bool, typer.Option("--header", help="CSV files begin with a header line.")]
CONFIG_FILE = Path("streamreasoner.toml")
"""The configuration that commands read unless they are given another one."""
ConfigFile = Annotated[Path, typer.Option(help="The configuration file (TOML).")]
All = Annotated[
    bool,
    typer.Option("--all", help="Include the facts of predicates that are declared with @hidden."),
]
