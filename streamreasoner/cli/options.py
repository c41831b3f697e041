"""Arguments and options of several commands. Invariant: each reads alike wherever it stands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.format_names import FormatName
from streamreasoner.rdf.graph_mode import GraphMode

if TYPE_CHECKING:
    from streamreasoner.io.files.documents import Reading


class Written(StrEnum):
    """The formats of messages that are written."""

    JSON = FormatName.JSON
    JSON_LINES = FormatName.JSON_LINES
    NTRIPLES = FormatName.NTRIPLES
    NQUADS = FormatName.NQUADS
    RDF_PATCH = FormatName.RDF_PATCH


class Printed(StrEnum):
    """The formats in which facts are printed: those of messages, and documents of graphs."""

    JSON = FormatName.JSON
    JSON_LINES = FormatName.JSON_LINES
    NTRIPLES = FormatName.NTRIPLES
    NQUADS = FormatName.NQUADS
    RDF_PATCH = FormatName.RDF_PATCH
    TURTLE = FormatName.TURTLE
    TRIG = FormatName.TRIG
    JSON_LD = FormatName.JSON_LD


class Read(StrEnum):
    """The formats of sources whose names do not tell theirs."""

    JSON_LINES = FormatName.JSON_LINES
    NTRIPLES = FormatName.NTRIPLES
    NQUADS = FormatName.NQUADS
    RDF_PATCH = FormatName.RDF_PATCH
    TURTLE = FormatName.TURTLE
    TRIG = FormatName.TRIG
    JSON_LD = FormatName.JSON_LD
    RDF_XML = FormatName.RDF_XML


Rules = Annotated[str, typer.Argument(help="A rule file, or the name of a packaged ruleset.")]
Facts = Annotated[
    list[Path],
    typer.Argument(
        help="Files of facts: .nt, .ttl, .rdf, .owl, .xml (triples), .nq, .trig, .jsonld (quads),"
        " .csv (the predicate is the file's name) or .rdfp (additions and deletions of triples and"
        " quads), each also as .gz, .xz, .bz2 or .zst; .parquet, Delta tables, .zip archives, and"
        " folders, of which all such files are read; - is standard input, in the format of --from."
    ),
]
HeaderLine = Annotated[bool, typer.Option("--header", help="CSV files begin with a header line.")]
BaseIri = Annotated[
    str | None,
    typer.Option(
        "--base", help="What relative IRIs are resolved against; default: the file's own address."
    ),
]
ReadAs = Annotated[
    Read | None,
    typer.Option(
        "--from",
        help="Format of standard input, or of files whatever their names; default: by file name.",
    ),
]


def readable(directory: Path | None) -> Path | None:
    """The directory of a state, unless it is an address, or a copy that may be old.

    Raises:
        StreamReasonerError: It is; says what to name in place of it.
    """
    from streamreasoner.state.objects.held import check_copy

    if directory is not None:
        check_copy(directory)
    return directory


CONFIG_FILE = Path("streamreasoner.toml")
"""The configuration that commands read unless they are given another one."""
ConfigFile = Annotated[Path, typer.Option(help="The configuration file (TOML).")]
StateDirectory = Annotated[
    Path | None,
    typer.Option(
        "--state",
        help="The directory of the state, in place of a configuration: that of Reasoner.open, or"
        " state.directory of a pipeline.",
        callback=readable,
    ),
]
All = Annotated[
    bool,
    typer.Option("--all", help="Include the facts of predicates that are declared with @hidden."),
]
GraphsOption = Annotated[
    GraphMode | None,
    typer.Option(
        "--graphs",
        help="How the quads of named graphs count for rules about triples: not at all (default), as"
        " triples (union), or so that rules hold within each graph (each).",
    ),
]


def reading(read_as: Read | None, *, header: bool, base: str | None) -> Reading:
    """How files are read, as options say it.

    Raises:
        DataError: The base is relative.
    """
    from streamreasoner.errors import DataError
    from streamreasoner.io.files.documents import Reading, named_format
    from streamreasoner.rdf.iris import is_absolute

    if base is not None and not is_absolute(base):
        raise DataError(f"--base {base!r} is relative; use an IRI with a scheme, such as http:.")
    return Reading(named_format(read_as), header, base)
