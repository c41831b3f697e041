"""`streamreasoner materialize`: the closure of facts from files, without Kafka or Spark."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from streamreasoner.analysis.load import load_program
from streamreasoner.errors import DataError
from streamreasoner.explain.fact import prefixes
from streamreasoner.lang.ast import QUAD, TRIPLE
from streamreasoner.rdf.load import declared_prefixes
from streamreasoner.reasoner import Reasoner
from streamreasoner.shell.facts import FactPrinter, decode_facts, sort_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.collection.updates import Updates
    from streamreasoner.rdf.dictionary import TermDictionary

_CHUNK = 1 << 18
_LINES = {TRIPLE: ".nt", QUAD: ".nq"}
_GENERALIZED = ".generalized"
_NUMBERS = ["iteration", "multiplicity"]
_SUBJECT, _PREDICATE, _GRAPH = 0, 1, 3
_BLANK, _END = (pa.scalar(text, pa.large_string()) for text in (" ", ".\n"))


def materialize(
    rules: Annotated[str, typer.Argument(help="A rule file, or the name of a packaged ruleset.")],
    facts: Annotated[
        list[Path],
        typer.Argument(
            help="Files of facts: .nt, .ttl (triples), .nq (quads) or .csv (the predicate is the"
            " file's name); each may be compressed as .gz or .xz."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="Write the closure here: triple.nt, quad.nq, and a .csv for each other predicate."
        ),
    ] = None,
    *,
    trace: Annotated[
        bool,
        typer.Option(
            help="Also write the trace: <predicate>.trace.csv, with iteration and multiplicity."
        ),
    ] = False,
    header: Annotated[
        bool,
        typer.Option(
            "--header",
            help="CSV files begin with a header line: skipped in FACTS, written to the output.",
        ),
    ] = False,
    print_facts: Annotated[
        bool,
        typer.Option(
            "--print",
            help="Print the facts, sorted, in rule syntax; with @output, those of its predicates"
            " only. The statistics go to standard error.",
        ),
    ] = False,
) -> None:
    """Evaluate a rule program over files of facts."""
    if trace and output is None:
        raise DataError("--trace needs --output, the directory to write to.")
    console = Console(stderr=True)
    reasoner = Reasoner(load_program(rules))
    start = time.perf_counter()
    with _progress(console) as progress:
        # Reading and deriving are one epoch: the engine consumes the iterator.
        reasoner.take(_read(reasoner, facts, progress, header=header))
    seconds = time.perf_counter() - start
    generalized = 0
    if output is not None:
        with console.status(f"Writing {output}"):
            generalized = _write(reasoner, output, trace=trace, header=header)
    if print_facts:
        _print(reasoner, facts)
    statistics = reasoner.engine.statistics()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{statistics.present:,} facts, {statistics.present - statistics.asserted:,} of them"
        f" inferred; {seconds:.1f} s, {peak:,.0f} MiB at the most.",
        file=sys.stderr if print_facts else sys.stdout,
    )
    if generalized:
        print(
            f"{generalized:,} triples or quads are not RDF (for example a literal as subject)."
            f" They are in files named *{_GENERALIZED}.*",
            file=sys.stderr if print_facts else sys.stdout,
        )


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,} facts"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def _print(reasoner: Reasoner, paths: list[Path]) -> None:
    program = reasoner.program
    printer = FactPrinter({**declared_prefixes(paths), **prefixes(program)})
    for predicate in sorted(program.outputs or program.arities):
        facts = decode_facts(predicate, reasoner.engine.facts(predicate), reasoner.dictionary)
        for fact in sorted(facts, key=sort_key):
            print(f"{printer.text(fact)} .")


def _read(
    reasoner: Reasoner, paths: list[Path], progress: Progress, *, header: bool
) -> Iterator[Updates]:
    task = progress.add_task("Reading", total=None)
    for path in paths:
        progress.update(task, description=f"Reading {path.name}")
        for updates in reasoner.read(path, header=header):
            progress.advance(task, len(updates.args))
            yield updates
    progress.update(task, description="Deriving from")


def _write(reasoner: Reasoner, directory: Path, *, trace: bool, header: bool) -> int:
    """Write all facts; returns how many are not RDF."""
    generalized = 0
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for predicate in reasoner.program.arities:
            facts = reasoner.engine.facts(predicate)
            if predicate in _LINES:
                generalized += _write_lines(directory, predicate, facts, reasoner.dictionary)
            else:
                path = directory / f"{predicate}.csv"
                _write_rows(path, facts, reasoner.dictionary, header=header)
            if trace:
                rows = reasoner.engine.trace(predicate)
                numbers = [pa.array(rows.iteration), pa.array(rows.multiplicity)]
                path = directory / f"{predicate}.trace.csv"
                _write_rows(path, rows.args, reasoner.dictionary, numbers, header=header)
    except OSError as error:
        raise DataError(f"{directory}: cannot be written: {error.strerror}.") from None
    return generalized


def _write_lines(
    directory: Path, predicate: str, facts: NDArray[np.int32], dictionary: TermDictionary
) -> int:
    """Write RDF to one file, and generalized RDF, if any, to another."""
    suffix = _LINES[predicate]
    generalized_path = directory / f"{predicate}{_GENERALIZED}{suffix}"
    generalized_path.unlink(missing_ok=True)
    generalized = 0
    with (directory / f"{predicate}{suffix}").open("wb") as file:
        for start in range(0, len(facts), _CHUNK):
            columns = _columns(facts[start : start + _CHUNK], dictionary)
            valid = _is_rdf(columns)
            lines = pc.binary_join_element_wise(*columns, _END, _BLANK)
            _write_text(file, lines.filter(valid))
            others = lines.filter(pc.invert(valid))
            if len(others):
                generalized += len(others)
                with generalized_path.open("ab") as extra:
                    _write_text(extra, others)
    return generalized


def _is_rdf(columns: list[pa.Array]) -> pa.Array:
    """Which rows have no literal as subject or graph, and an IRI as predicate."""
    valid = pc.starts_with(columns[_PREDICATE], "<")
    for column in (columns[_SUBJECT], *columns[_GRAPH:]):
        valid = pc.and_not(valid, pc.starts_with(column, '"'))
    return valid


def _write_text(file: BinaryIO, lines: pa.Array) -> None:
    # The column's data buffer holds the lines back to back.
    if len(lines):
        file.write(lines.buffers()[2])


def _write_rows(
    path: Path,
    facts: NDArray[np.int32],
    dictionary: TermDictionary,
    numbers: list[pa.Array] | None = None,
    *,
    header: bool,
) -> None:
    names = [f"a{i}" for i in range(facts.shape[1])]
    names += _NUMBERS if numbers else []
    if not names:
        # A fact without arguments is a line without cells.
        path.write_text("\n" * len(facts), encoding="utf-8")
        return
    options = pyarrow.csv.WriteOptions(include_header=header, quoting_style="needed")
    schema = pa.schema(
        [(name, pa.large_string()) for name in names[: facts.shape[1]]]
        + [(name, a.type) for name, a in zip(names[facts.shape[1] :], numbers or [], strict=True)]
    )
    with pyarrow.csv.CSVWriter(path, schema, write_options=options) as writer:
        for start in range(0, len(facts), _CHUNK):
            columns = _columns(facts[start : start + _CHUNK], dictionary)
            extra = [column.slice(start, _CHUNK) for column in numbers or []]
            writer.write(pa.record_batch([*columns, *extra], schema=schema))


def _columns(facts: NDArray[np.int32], dictionary: TermDictionary) -> list[pa.Array]:
    return [dictionary.decode(facts[:, i]) for i in range(facts.shape[1])]
