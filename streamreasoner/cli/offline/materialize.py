"""`streamreasoner materialize`: the closure of facts from files, without Kafka or Spark."""

from __future__ import annotations

import resource
import sys
import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TextIO, TypeAlias

import typer

from streamreasoner.cli.options import (
    All,
    BaseIri,
    Facts,
    GraphsOption,
    Printed,
    ReadAs,
    Rules,
    reading,
)
from streamreasoner.counts import counted
from streamreasoner.errors import DataError
from streamreasoner.system.processors import MOST_CORES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import Progress

    from streamreasoner.api.results import Size
    from streamreasoner.engine.session import Session
    from streamreasoner.engine.updates import Updates
    from streamreasoner.io.files.documents import Reading
    from streamreasoner.program.checked import CheckedProgram


class HierarchiesMode(Enum):
    """What is done with the copies of facts along hierarchies."""

    AUTO = "auto"
    STORED = "stored"
    ENCODED = "encoded"


_QUADS: Final = "triple or quad", "triples or quads"

_Output: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Write the closure here: triple.nt, quad.nq, and a .csv for each other predicate."
    ),
]
_Inferred: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--inferred",
        help="Print and write only what is inferred: present facts that are not asserted.",
    ),
]
_Trace: TypeAlias = Annotated[
    bool,
    typer.Option(
        help="Also write the trace: <predicate>.trace.csv, with iteration and multiplicity."
    ),
]
_Provenance: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write here where each fact comes from, premises and rule, as RDF 1.2 in Turtle"
        " (PROV-O).",
    ),
]
_Header: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--header",
        help="CSV files begin with a header line: skipped in FACTS, written to the output.",
    ),
]
_Cores: TypeAlias = Annotated[
    int,
    typer.Option(
        min=1,
        max=MOST_CORES,
        help="How many cores the load may use, each with a part of the facts.",
    ),
]
_Hierarchies: TypeAlias = Annotated[
    HierarchiesMode,
    typer.Option(
        help="Whether facts that rules copy along a hierarchy, such as inherited types, are all"
        " stored, or encoded: stored only where rules read them; auto: whatever pays.",
    ),
]
_Print: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--print",
        help="Print the facts, sorted, in rule syntax; with @output, those of its predicates"
        " only. Violations always go to standard error. The statistics go to standard error.",
    ),
]


def materialize(
    rules: Rules,
    facts: Facts,
    output: _Output = None,
    *,
    inferred: _Inferred = False,
    trace: _Trace = False,
    provenance: _Provenance = None,
    header: _Header = False,
    hidden: All = False,
    graphs: GraphsOption = None,
    print_facts: _Print = False,
    written: Annotated[
        Printed | None,
        typer.Option("--format", help="Print the facts as --print does, but in this format."),
    ] = None,
    read_as: ReadAs = None,
    base: BaseIri = None,
    cores: _Cores = 1,
    hierarchies: _Hierarchies = HierarchiesMode.AUTO,
) -> None:
    """Evaluate a rule program over files of facts; exit code 3 if there are violations."""
    from rich.console import Console

    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.cli.files import tell_imported, tell_skipped
    from streamreasoner.cli.offline.closure import (
        check_printable,
        print_closure,
        printed,
        write_closure,
        write_provenance,
    )
    from streamreasoner.cli.offline.violations import VIOLATED, print_violations
    from streamreasoner.io.formats.registry import of_name
    from streamreasoner.program.load import load_program

    if trace and output is None:
        raise DataError("--trace needs --output, the directory to write to.")
    # Nothing of its own: in a file, rich before 15 writes an empty line for a disabled progress.
    console = Console(stderr=True, quiet=not sys.stderr.isatty())
    how = reading(read_as, header=header, base=base)
    tell_skipped(facts, how)
    program = load_program(rules, graphs)
    if written is not None:
        check_printable(printed(program, hidden=hidden), of_name(written))
    reasoner = Reasoner(program, cores=cores, hierarchies=hierarchies.value)
    session = reasoner.session
    start = time.perf_counter()
    with _progress(console) as progress:
        session.load(_read(session, facts, progress, how), report=False)
    seconds = time.perf_counter() - start
    tell_imported(session)
    generalized, unprinted, shown = 0, 0, printed(program, hidden=hidden)
    if output is not None:
        with console.status(f"Writing {output}"):
            names = program.arities if hidden else program.visible
            generalized = write_closure(
                session, output, names, inferred=inferred, trace=trace, header=header
            )
    if provenance is not None:
        write_provenance(session, provenance)
    if written is not None:
        prefixes = _prefixes(program, facts)
        unprinted = print_closure(
            session, shown, of_name(written), sys.stdout.buffer, prefixes, inferred=inferred
        )
        sys.stdout.flush()
    elif print_facts:
        _print(session, shown, facts, inferred=inferred)
    report = sys.stderr if print_facts or written is not None else sys.stdout
    _tell(_statistics(reasoner.size(hidden=hidden), seconds), generalized, unprinted, report)
    if print_violations(session):
        raise typer.Exit(VIOLATED)


def _statistics(size: Size, seconds: float) -> str:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{counted(size.present, 'fact')}, {size.derived:,} of them derived;"
        f" {seconds:.1f} s, {peak:,.0f} MiB at the most."
    )


def _tell(statistics: str, written: int, unprinted: int, report: TextIO) -> None:
    """Print the statistics, and how many facts that were written or not printed are not RDF."""
    from streamreasoner.cli.offline.closure import GENERALIZED

    print(statistics, file=report)
    if written:
        print(f"{_not_rdf(written)}, in files named *{GENERALIZED}.*", file=report)
    if unprinted:
        print(f"{_not_rdf(unprinted)}, not printed; --format json prints them.", file=report)


def _not_rdf(count: int) -> str:
    return f"Not RDF (for example a literal as subject): {counted(count, *_QUADS)}"


def _progress(console: Console) -> Progress:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("facts: {task.completed:,}"),
        TimeElapsedColumn(),
        console=console,
    )


def _print(session: Session, predicates: list[str], paths: list[Path], *, inferred: bool) -> None:
    from streamreasoner.cli.offline.closure import facts_of
    from streamreasoner.facts import decode_facts, in_order
    from streamreasoner.shell.output import FactPrinter

    printer = FactPrinter(_prefixes(session.program, paths))
    for predicate in predicates:
        args = in_order(facts_of(session, predicate, inferred=inferred), session.dictionary)
        for fact in decode_facts(predicate, args, session.dictionary):
            print(f"{printer.text(fact)} .")


def _prefixes(program: CheckedProgram, paths: list[Path]) -> dict[str, str]:
    """Those of files, and those of the program, which win."""
    from streamreasoner.explain.fact import prefixes
    from streamreasoner.io.files.documents import declared_prefixes

    return {**declared_prefixes(paths), **prefixes(program)}


def _read(
    session: Session, paths: list[Path], progress: Progress, how: Reading
) -> Iterator[Updates]:
    from streamreasoner.api.files import updates_of_file

    # The engine consumes this, so that reading and deriving are one epoch.
    # Files have no times: what expires is present as of now.
    now = time.time_ns() // 1_000_000
    task = progress.add_task("Reading", total=None)
    for path in paths:
        progress.update(task, description=f"Reading {path.name}")
        for updates in updates_of_file(session, path, how, ts=now):
            progress.advance(task, len(updates.args))
            yield updates
    progress.update(task, description="Deriving from")
