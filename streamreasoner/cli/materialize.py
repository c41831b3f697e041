"""`streamreasoner materialize`: facts from files in, their closure out, with no Kafka or Spark."""

from __future__ import annotations

import resource
import time
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from streamreasoner.analysis.load import load_program
from streamreasoner.errors import DataError
from streamreasoner.lang.ast import QUAD, TRIPLE
from streamreasoner.reasoner import Reasoner

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.collection.updates import Updates
    from streamreasoner.rdf.dictionary import TermDictionary

_CHUNK = 1 << 18
_LINES = {TRIPLE: "triple.nt", QUAD: "quad.nq"}
_BLANK, _END = (pa.scalar(text, pa.large_string()) for text in (" ", ".\n"))


def materialize(
    rules: Annotated[str, typer.Argument(help="A rule file, or the name of a packaged ruleset.")],
    facts: Annotated[
        list[Path],
        typer.Argument(
            help="Files of facts: .nt, .ttl (triples), .nq (quads) or .csv (the predicate is the"
            " file's name); each may be packed as .gz or .xz."
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
        typer.Option(help="Write the trace too: <predicate>.trace.csv, with iteration and count."),
    ] = False,
) -> None:
    """Evaluate a rule program over files of facts."""
    if trace and output is None:
        raise DataError("--trace needs --output, the directory to write to.")
    console = Console(stderr=True)
    reasoner = Reasoner(load_program(rules))
    start = time.perf_counter()
    with _progress(console) as progress:
        # Reading and deriving are one epoch: the engine pulls the facts through this iterator.
        reasoner.engine.apply(0, _read(reasoner, facts, progress))
    seconds = time.perf_counter() - start
    if output is not None:
        with console.status(f"Writing {output}"):
            _write(reasoner, output, trace=trace)
    statistics = reasoner.engine.statistics()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{statistics.present:,} facts, {statistics.present - statistics.asserted:,} of them"
        f" inferred; {seconds:.1f} s, {peak:,.0f} MiB at the most."
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


def _read(reasoner: Reasoner, paths: list[Path], progress: Progress) -> Iterator[Updates]:
    task = progress.add_task("Reading", total=None)
    for path in paths:
        progress.update(task, description=f"Reading {path.name}")
        for updates in reasoner.read(path):
            progress.advance(task, len(updates.args))
            yield updates
    progress.update(task, description="Deriving from")


def _write(reasoner: Reasoner, directory: Path, *, trace: bool) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for predicate in reasoner.program.arities:
            facts = reasoner.engine.facts(predicate)
            if predicate in _LINES:
                _write_lines(directory / _LINES[predicate], facts, reasoner.dictionary)
            else:
                _write_rows(directory / f"{predicate}.csv", facts, reasoner.dictionary)
            if trace:
                rows = reasoner.engine.trace(predicate)
                numbers = [pa.array(rows.iteration), pa.array(rows.multiplicity)]
                path = directory / f"{predicate}.trace.csv"
                _write_rows(path, rows.args, reasoner.dictionary, numbers)
    except OSError as error:
        raise DataError(f"{directory}: cannot be written: {error.strerror}.") from None


def _write_lines(path: Path, facts: NDArray[np.int32], dictionary: TermDictionary) -> None:
    with path.open("wb") as file:
        for start in range(0, len(facts), _CHUNK):
            columns = _columns(facts[start : start + _CHUNK], dictionary)
            lines = pc.binary_join_element_wise(*columns, _END, _BLANK)
            # The bytes of the column's values are the lines, one after the other.
            file.write(lines.buffers()[2])


def _write_rows(
    path: Path,
    facts: NDArray[np.int32],
    dictionary: TermDictionary,
    numbers: list[pa.Array] | None = None,
) -> None:
    names = [f"a{i}" for i in range(facts.shape[1] + len(numbers or []))]
    if not names:
        # A fact without arguments is a line without cells.
        path.write_text("\n" * len(facts), encoding="utf-8")
        return
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
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
